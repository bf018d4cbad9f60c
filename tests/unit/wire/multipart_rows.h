#pragma once

#include "fuzz/part_log.h"

/* Rows of bodies and what they mean, for the tests of the form parser. */

#define TYPE "multipart/form-data; boundary=XX"
#define CD "Content-Disposition: form-data; "
#define PART(cd) "--XX\r\n" CD cd "\r\n\r\n"
#define END "\r\n--XX--\r\n"
#define HEAD(lines) "--XX\r\n" lines "\r\n1" END
#define NAMED(p) PART("name=f; " p) "1" END

extern const struct multipart_limits row_limits;

struct row {
	const char *body, *want;
};

/* Parses a body, the first piece `first` bytes long and the others `rest`, to the log's text. */
void row_parse(struct strbuf *log, const struct multipart_limits *l, const char *type,
	       const char *body, size_t len, size_t first, size_t rest);
/* Feeds the row's body whole, cut in two at every place, and in small pieces: each way must give
 * its text. */
void row_check_bytes(const struct multipart_limits *l, const struct row *r, size_t len);
void row_check(const struct multipart_limits *l, const struct row *r);
/* row_check of all, by row_limits. */
void rows_check(const struct row *rows, size_t count);
