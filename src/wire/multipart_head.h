#pragma once

#include "base/base.h"
#include "limits.h"

struct err;

/* What the header of one part says. Texts are valid UTF-8 without NUL and control characters. */
struct multipart_head {
	char name[LIMIT_FIELD_NAME_BYTES + 1];
	bool is_file; /* a filename was given */
	char filename[LIMIT_NAME_BYTES +
		      1]; /* passed filename_check, or empty where that is allowed */
};

/*
 * Reads a part's header: lines that end in CRLF, without the empty one; the text is changed (folded
 * lines are joined). Refused with ERR_BAD_MULTIPART: no or a second Content-Disposition, one that
 * isn't form-data with a name, a Content-Transfer-Encoding that changes bytes. A bad file name is
 * ERR_BAD_NAME. filename* wins over filename. allow_empty: filename="" is passed on instead of
 * refused.
 */
int multipart_head_parse(struct multipart_head *out, char *text, size_t len, bool allow_empty,
			 struct err *err);
