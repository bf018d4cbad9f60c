#pragma once

#include "base/strbuf.h"

/* Bodies of multipart/form-data as browsers write them. */
#define FORM_BOUNDARY "----form7MA4YWxkTrZu0gW"
#define FORM_TYPE "multipart/form-data; boundary=" FORM_BOUNDARY

void form_field(struct strbuf *body, const char *name, const char *value);
/* A file part; quotes in the name become %22 (HTML standard, 4.10.22.7). type: the client's word.
 */
void form_file(struct strbuf *body, const char *name, const char *filename, const char *type,
	       const void *data, size_t len);
/* The same in two steps, for a header of the test's own: what follows "form-data". */
void form_part(struct strbuf *body, const char *params, const void *data, size_t len);
void form_end(struct strbuf *body);
