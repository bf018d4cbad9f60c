#pragma once

#include "base/base.h"

struct err;
struct strbuf;

/* RFC 4648 with padding, nothing else: no blanks, no line ends, no stray bits. */
void base64_encode(struct strbuf *out, const void *data, size_t len);
/* Appends the bytes; false (nothing appended) when ill-formed. */
bool base64_decode(struct strbuf *out, const char *text, size_t len);
