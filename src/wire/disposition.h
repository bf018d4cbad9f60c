#pragma once

#include "base/base.h"

struct strbuf;

/*
 * Appends a Content-Disposition (RFC 6266) that makes a browser save a file under the last
 * component of path, which is valid UTF-8:
 *
 *   attachment; filename="a_.csv"; filename*=UTF-8''a%C3%A9.csv
 *
 * The second name (RFC 8187) is exact. The first is for those who read no other: what is not plain
 * in it is '_'. For a component of LIMIT_NAME_BYTES it has less than LIMIT_HEADER_VALUE bytes.
 */
void disposition_attachment(struct strbuf *out, const char *path);
