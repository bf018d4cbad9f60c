#pragma once

#include "base/base.h"

struct conf;
struct err;

/* Forms of text settings, for the rows of conf.c. Each is a question about the value as it was
 * written. */
bool conf_is_host(const char *s);    /* a host name or address */
bool conf_is_run_dir(const char *s); /* an absolute path with room for socket names below it */
bool conf_is_dir(const char *s);     /* an absolute path */
bool conf_is_dir_or_none(const char *s);
bool conf_is_user(const char *s);
bool conf_is_engine(const char *s);  /* unix:///path or tcp://host:port */
bool conf_is_runtime(const char *s); /* empty, or the name of an OCI runtime */
bool conf_is_image(const char *s);
bool conf_is_label(const char *s);
bool conf_is_sandbox(const char *s);
bool conf_is_limits(const char *s); /* empty, or a comma list of memory, swap, pids, cpu */
bool conf_is_level(const char *s);
bool conf_is_format(const char *s);
bool conf_is_modules(const char *s); /* empty, or a comma list of dotted Python names */
bool conf_is_types(const char *s);   /* empty, or MIME patterns (wire/mimelist.h) */

/* Settings that are valid each for itself and can't work together: -1, ERR_INVALID, the text names
 * both keys. */
int conf_check(const struct conf *c, struct err *err);
