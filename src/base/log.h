#pragma once

#include "base/base.h"

/*
 * One line a call to stderr in one write: "time level role[pid] request-id message", or one JSON
 * object with LOG_FORMAT=json {timestamp, level, logger, pid, request_id, message, ...fields}.
 * Control characters and quotes are escaped; a line is at most 2 KiB. Only proc/ and main.c log.
 */
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_setup(enum log_level level, bool json);
void log_role(const char *role);     /* borrowed for the process's life */
void log_request_id(const char *id); /* copied, cut at 64; NULL: none */
void log_err(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_warn(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_info(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* One more field of a structured line: exactly one of text and number. */
struct log_field {
	const char *name;
	const char *text; /* NULL: number */
	int64_t number;
};
/* Info line with fields: `message key=value ...` in plain, members in JSON. */
void log_fields(const char *message, const struct log_field *fields, size_t count);
