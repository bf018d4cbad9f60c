#pragma once

#include "base/base.h"

/* Milliseconds of the monotonic clock; every deadline is such a value. */
int64_t clock_ms(void);
int64_t clock_us(void);
/* Milliseconds since 1970. */
int64_t clock_wall_ms(void);
/* Milliseconds left until the deadline, as poll() takes them: 0 when past, at most INT_MAX. */
int clock_left(int64_t deadline_ms);
/* "2026-01-31T23:59:59.123Z"; out holds at least CLOCK_TEXT bytes. */
#define CLOCK_TEXT 32
void clock_rfc3339(int64_t wall_ms, char *out);
/* Sleeps until the deadline or a signal. For back-off only. */
void clock_wait(int64_t deadline_ms);
