#pragma once

#include "base/base.h"
#include "limits.h"

struct err;
struct strbuf;

/* One parameter of a header value. The spans are borrowed from the text that was parsed; value is
 * without its quotes. */
struct param {
	const char *name, *value;
	size_t name_len, value_len;
	bool quoted;
};

/* "form-data; name=\"a\"; filename=b" taken apart: `first` is "form-data". */
struct param_list {
	const char *first;
	size_t first_len;
	struct param items[LIMIT_PARAMS];
	size_t count;
};

/*
 * Takes a header value apart by RFC 9110 section 5.6.6. Malformed, more than LIMIT_PARAMS, or one
 * name twice: ERR_BAD_MULTIPART. A value without quotes may hold anything but blanks, quotes,
 * semicolons and control characters, as real clients send boundaries and UTF-8 that way.
 */
int param_parse(struct param_list *out, const char *text, size_t len, struct err *err);
/* True if the first word is `word`, in any case. */
bool param_first_is(const struct param_list *list, const char *word);
/* The parameter of that name, in any case, or NULL. */
const struct param *param_find(const struct param_list *list, const char *name);
/*
 * Appends the value of an ordinary parameter. In quotes, \" and \\ are a quote and a backslash (RFC
 * 9110), any other backslash is itself (browsers do not escape it), and %22, %0D, %0A are what
 * HTML's form encoding makes of a quote and of line ends. Other percent signs are themselves.
 */
void param_text(const struct param *p, struct strbuf *out);
/* Appends the value of a `name*` parameter (RFC 8187: UTF-8 or ISO-8859-1, percent-encoded), as
 * UTF-8. -1: malformed, ERR_BAD_NAME. */
int param_ext(const struct param *p, struct strbuf *out, struct err *err);
/* Bytes that "%XX" at s stands for, or -1. left: bytes from s on. */
int param_percent(const char *s, size_t left);
