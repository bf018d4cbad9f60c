#pragma once

#include "base/base.h"

struct strbuf;

/* True if all of it is well-formed UTF-8 (no surrogates, no overlong forms, at most U+10FFFF). */
bool utf8_valid(const void *data, size_t len);
/*
 * Appends data with every ill-formed byte sequence replaced by U+FFFD (one for each maximal
 * subpart, Unicode 15 section 3.9). `final` false: an incomplete character at the end is left;
 * returns how many bytes of data were consumed.
 */
size_t utf8_scrub(struct strbuf *out, const void *data, size_t len, bool final);
/* The largest n <= max such that data[0..n) does not end inside a character. */
size_t utf8_cut(const void *data, size_t len, size_t max);
