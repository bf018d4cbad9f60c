#pragma once

#include "base/base.h"

/* UUID version 4 in lower case: 36 characters and NUL. */
#define IDENT_UUID 37
void ident_uuid(char *out);
/* True for exactly the form ident_uuid makes (lower case, version 4, RFC 9562 variant). */
bool ident_is_uuid(const char *s);
/* n random lower-case hexadecimal digits and NUL; n <= 64. */
void ident_hex(char *out, size_t n);
