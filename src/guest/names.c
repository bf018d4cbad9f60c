/*
 * What a file of the workspace may be called. inputs.c asks before it creates a file, files.c
 * before it sends one. Pure: it looks at bytes, never at the file system.
 */
#include "guest/names.h"

#include "limits.h"

#include <string.h>

/* Length of the well-formed UTF-8 character at s, 0 if there is none (Unicode 15, table 3-7). */
static size_t utf8_len(const uint8_t *s, size_t left)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t n;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (left < n || s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++) {
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	}
	return n;
}

static bool control(uint8_t c)
{
	return c < 0x20 || c == 0x7f;
}

bool names_component_ok(const char *name, size_t len)
{
	const uint8_t *s = (const uint8_t *)name;
	size_t n;

	if (len == 0 || len > LIMIT_NAME_BYTES || memchr(name, '/', len))
		return false;
	if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return false;
	for (size_t i = 0; i < len; i += n) {
		n = utf8_len(s + i, len - i);
		if (n == 0 || control(s[i]))
			return false;
	}
	return true;
}

bool names_path_ok(const char *path, size_t len)
{
	size_t depth = 0, n;

	if (len == 0 || len > LIMIT_PATH_BYTES)
		return false;
	for (size_t i = 0; i <= len; i += n + 1) {
		const char *slash = memchr(path + i, '/', len - i);

		n = slash ? (size_t)(slash - path) - i : len - i;
		if (++depth > LIMIT_PATH_DEPTH || !names_component_ok(path + i, n))
			return false;
	}
	return true;
}

void names_scrub(char *path, size_t len)
{
	uint8_t *s = (uint8_t *)path;
	size_t n;

	for (size_t i = 0; i < len; i += n) {
		n = utf8_len(s + i, len - i);
		if (n == 0 || control(s[i])) {
			s[i] = '?';
			n = 1;
		}
	}
}
