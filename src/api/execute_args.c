/*
 * Finds the text of one member in a JSON object without parsing it again. Used for `args`, which
 * goes to the program as the client wrote it: a parsed tree would have lost large integers and long
 * fractions. The object has passed json_load, so its form is known to be good; the walk stays
 * within the bytes all the same.
 */
#include "api/execute.h"

#include <string.h>

static const char blanks[] = " \t\r\n";

static bool is_blank(char c)
{
	return c != '\0' && strchr(blanks, c);
}

static size_t skip_blanks(const char *s, size_t len, size_t at)
{
	while (at < len && is_blank(s[at]))
		at++;
	return at;
}

/* From an opening quote to behind the closing one. */
static size_t skip_string(const char *s, size_t len, size_t at)
{
	for (at++; at < len && s[at] != '"'; at++)
		if (s[at] == '\\')
			at++;
	return MIN(at + 1, len);
}

/* From a value's first byte to the comma or bracket that ends it. */
static size_t skip_value(const char *s, size_t len, size_t at)
{
	size_t depth = 0;

	while (at < len) {
		char c = s[at];

		if (c == '"') {
			at = skip_string(s, len, at);
			continue;
		}
		if (depth == 0 && (c == ',' || c == '}'))
			break;
		if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			depth--;
		at++;
	}
	return at;
}

bool execute_find_args(const char *body, size_t len, const char **out, size_t *out_len)
{
	static const char name[] = "\"args\"";
	size_t at = skip_blanks(body, len, 0) + 1;

	while ((at = skip_blanks(body, len, at)) < len && body[at] == '"') {
		size_t key = at, key_end = skip_string(body, len, at), value, end;

		value = skip_blanks(body, len, skip_blanks(body, len, key_end) + 1);
		at = end = skip_value(body, len, value);
		while (end > value && is_blank(body[end - 1]))
			end--;
		if (key_end - key == strlen(name) && memcmp(body + key, name, strlen(name)) == 0) {
			*out = body + value;
			*out_len = end - value;
			return true;
		}
		at++;
	}
	return false;
}
