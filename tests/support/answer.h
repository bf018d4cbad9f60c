#pragma once

#include "base/base.h"
#include "base/strbuf.h"

#include <json-c/json.h>

/* One HTTP answer, however it came (FastCGI or HTTP), and the assertions on it. */
#define ANSWER_MAX (160 << 20)

struct answer {
	int status; /* 0: there was none; why stands in `problem` */
	char problem[256];
	struct strbuf head; /* header lines, LF only */
	struct strbuf body;
	struct json_object *json; /* the body, if it is JSON */
	int64_t ms;		  /* from the call to the end of the answer */
};
#define ANSWER_INIT                                                                                \
	{                                                                                          \
		.head = STRBUF(1 << 20), .body = STRBUF(ANSWER_MAX)                                \
	}

void answer_clear(struct answer *a);
/* Splits CGI or HTTP bytes into header and body and parses both. */
void answer_parse(struct answer *a, const void *data, size_t len);
/* Parses the body when head and body are filled by somebody else. */
void answer_parse_body(struct answer *a);
/* The header's value or NULL; valid until the next call. */
const char *answer_header(const struct answer *a, const char *name);
/* "usage.wall_ms", "files.0.path": NULL when a step is missing or the value is null. */
struct json_object *answer_get(const struct answer *a, const char *path);
struct json_object *answer_json_get(struct json_object *top, const char *path);
int64_t answer_int(const struct answer *a, const char *path);
const char *answer_str(const struct answer *a, const char *path);
/* The member of the array at `list` whose member `key` is `value`, or NULL. */
struct json_object *answer_find(const struct answer *a, const char *list, const char *key,
				const char *value);

/* The log that every failure message ends with; NULL: none. Set by service.c. */
void answer_log_path(const char *path);

/* Ends the test with what was wanted, the answer and the end of the service's log. */
NORETURN void answer_fail(const struct answer *a, const char *file, int line, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
void answer_want_status(const struct answer *a, int status, const char *file, int line);
void answer_want_str(const struct answer *a, const char *path, const char *want, const char *file,
		     int line);
void answer_want_int(const struct answer *a, const char *path, int64_t min, int64_t max,
		     const char *file, int line);
void answer_want_bool(const struct answer *a, const char *path, bool want, const char *file,
		      int line);
void answer_want_null(const struct answer *a, const char *path, const char *file, int line);
void answer_want_in(const struct answer *a, const char *path, const char *part, const char *file,
		    int line);

#define WANT_STATUS(a, status) answer_want_status(a, status, __FILE__, __LINE__)
#define WANT_STR(a, path, want) answer_want_str(a, path, want, __FILE__, __LINE__)
#define WANT_INT(a, path, want) answer_want_int(a, path, want, want, __FILE__, __LINE__)
#define WANT_RANGE(a, path, min, max) answer_want_int(a, path, min, max, __FILE__, __LINE__)
#define WANT_BOOL(a, path, want) answer_want_bool(a, path, want, __FILE__, __LINE__)
#define WANT_NULL(a, path) answer_want_null(a, path, __FILE__, __LINE__)
/* The text at path contains part. */
#define WANT_IN(a, path, part) answer_want_in(a, path, part, __FILE__, __LINE__)
#define WANT(a, cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			answer_fail(a, __FILE__, __LINE__, "%s", #cond);                           \
	} while (0)
