#pragma once

#include "base/base.h"
#include "base/strbuf.h"

/*
 * Appends members to a JSON object that is being written as text: an answer may hold many MiB,
 * which a tree of objects would hold twice. The comma comes by itself. Texts must be valid UTF-8.
 */
void member_key(struct strbuf *out, const char *name);
void member_text(struct strbuf *out, const char *name, const char *text, size_t len);
void member_str(struct strbuf *out, const char *name, const char *text); /* NULL: null */
void member_int(struct strbuf *out, const char *name, int64_t value);
void member_bool(struct strbuf *out, const char *name, bool value);
void member_null(struct strbuf *out, const char *name);
/* Thousandths as a decimal number: 1500 is 1.5. */
void member_milli(struct strbuf *out, const char *name, int64_t milli);
/* "name": { or [ ; the caller adds the closing bracket. */
void member_open(struct strbuf *out, const char *name, char bracket);
