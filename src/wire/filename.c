/*
 * The rule for names of uploaded files, in one place. A name that breaks it is refused and not
 * repaired: a client that finds its file under another name than it sent would look for it in vain.
 * Called by the multipart parser and by whoever takes a name from a field.
 */
#include "wire/filename.h"

#include "base/err.h"
#include "base/utf8.h"
#include "limits.h"

#include <string.h>

/* How much of a bad name an error shows. */
#define SHOWN 80

/* C0, DEL, and C1 (U+0080 to U+009F), which terminals obey too. The text is valid UTF-8. */
static bool has_control(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < 0x20 || c == 0x7f)
			return true;
		if (c == 0xc2 && (unsigned char)s[i + 1] < 0xa0)
			return true;
	}
	return false;
}

static bool is_dots(const char *name, size_t len)
{
	return (len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.');
}

int filename_check(const char *name, size_t len, struct err *err)
{
	int shown = (int)utf8_cut(name, len, SHOWN);

	if (len == 0)
		return err_set(err, ERR_BAD_NAME,
			       "The file name is empty; every file needs a name.");
	if (len > LIMIT_NAME_BYTES)
		return err_set(err, ERR_BAD_NAME,
			       "The file name has %zu bytes; at most %d are allowed.", len,
			       LIMIT_NAME_BYTES);
	if (memchr(name, '\0', len))
		return err_set(err, ERR_BAD_NAME, "The file name must not contain a NUL byte.");
	if (!utf8_valid(name, len))
		return err_set(err, ERR_BAD_NAME, "The file name must be valid UTF-8.");
	if (has_control(name, len))
		return err_set(err, ERR_BAD_NAME,
			       "The file name must not contain control characters: '%.*s'.", shown,
			       name);
	if (memchr(name, '/', len))
		return err_set(
			err, ERR_BAD_NAME,
			"The file name must be one name without folders, without '/': '%.*s'.",
			shown, name);
	if (is_dots(name, len))
		return err_set(err, ERR_BAD_NAME,
			       "The file name must not be '%.*s', which is a folder.", shown, name);
	return 0;
}
