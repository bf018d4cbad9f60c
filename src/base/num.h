#pragma once

#include "base/base.h"

struct err;

/* Whole decimal integer within [min, max], nothing around it, no '+', no leading zeros but "0".
 * False leaves *out alone. */
bool num_int(const char *s, int64_t min, int64_t max, int64_t *out);
/* Decimal with at most three places ("1", "0.5", "1.25") as thousandths within [min, max]. */
bool num_milli(const char *s, int64_t min, int64_t max, int64_t *out);
/* Exactly len hexadecimal digits, len <= 16. */
bool num_hex(const char *s, size_t len, uint64_t *out);
