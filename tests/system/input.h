#pragma once

#include <stddef.h>

struct answer;
struct service;

/* What the suites on bad input share: one service whose workers must all live on, and the form of
 * an error. */
extern struct service input_service;
void input_setup(void);
void input_teardown(void);
/* POST /v1/execute with these bytes. */
void input_post(const void *body, size_t len, struct answer *out);
/* The one form of every error with this status and code; and all workers that there were at the
 * start are alive. */
void input_want_error(const struct answer *a, int status, const char *code);
void input_want_workers(void);
/* `detail` names the field. */
void input_want_named(const struct answer *a, const char *field);
