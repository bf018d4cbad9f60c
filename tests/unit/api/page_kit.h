#pragma once

#include "base/strbuf.h"

/* How many random texts a property is tried with. */
#define PAGE_ROUNDS 100

/*
 * Reads a page as a browser's tokenizer does and appends its tags, without the text between them
 * and without the value of alt. Fails the test when the page is not valid UTF-8, has a control
 * character, an open tag, or an & that is none of the five names.
 */
void page_tags(const struct strbuf *page, struct strbuf *out);
/* Fills text with what breaks pages: markup, quotes, pieces of UTF-8, any byte (NUL too). Same for
 * the same seed. */
void page_hostile(unsigned seed, char *text, size_t len);
void page_has(const struct strbuf *page, const char *text);
void page_has_not(const struct strbuf *page, const char *text);
