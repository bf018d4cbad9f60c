/*
 * The operator's rules on what may be uploaded, by type. Called by the store's writer with the type
 * that libmagic found, never with the client's word, and by the start of the service to refuse a
 * list that could never match.
 */
#include "wire/mimelist.h"

#include "base/err.h"
#include "limits.h"

#include <string.h>
#include <strings.h>

#define SEPARATORS ", \t\r\n"

static bool is_name(const char *s, size_t len)
{
	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool alnum = (s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'z') ||
			     (s[i] >= 'A' && s[i] <= 'Z');

		/* RFC 6838 section 4.2 */
		if (!alnum && !memchr("!#$&-^_.+", s[i], 9))
			return false;
	}
	return true;
}

static bool is_star(const char *s, size_t len)
{
	return len == 1 && *s == '*';
}

/* A type and a subtype, either of which may be a star; a star alone. */
static bool pattern_ok(const char *s, size_t len)
{
	const char *slash = memchr(s, '/', len);
	size_t left = slash ? (size_t)(slash - s) : 0, right = slash ? len - left - 1 : 0;

	if (!slash)
		return is_star(s, len);
	if (is_star(slash + 1, right))
		return is_star(s, left) || is_name(s, left);
	return is_name(s, left) && is_name(slash + 1, right);
}

static bool pattern_covers(const char *p, size_t len, const char *type, size_t type_len)
{
	if (is_star(p, len) || (len == 3 && memcmp(p, "*/*", 3) == 0))
		return true;
	/* With the slash, so that all of "image" does not cover "imagery/x". */
	if (len >= 2 && memcmp(p + len - 2, "/*", 2) == 0)
		return type_len >= len && strncasecmp(p, type, len - 1) == 0;
	return type_len == len && strncasecmp(p, type, len) == 0;
}

/* The next pattern at or behind *s; NULL at the end of the list. */
static const char *next_pattern(const char **s, size_t *out_len)
{
	const char *from = *s + strspn(*s, SEPARATORS);

	*out_len = strcspn(from, SEPARATORS);
	*s = from + *out_len;
	return *out_len ? from : NULL;
}

int mimelist_check(const char *list, struct err *err)
{
	const char *p;
	size_t len;

	while ((p = next_pattern(&list, &len))) {
		if (!pattern_ok(p, len))
			return err_set(err, ERR_INVALID,
				       "'%.*s' is no MIME pattern; write type/subtype or type/*.",
				       (int)MIN(len, (size_t)80), p);
	}
	return 0;
}

const char *mimelist_find(const char *list, const char *type, size_t *out_len)
{
	size_t type_len = strcspn(type, "; \t");
	const char *p;

	while ((p = next_pattern(&list, out_len))) {
		if (pattern_covers(p, *out_len, type, type_len))
			return p;
	}
	return NULL;
}

int mimelist_permit(const char *allow, const char *deny, const char *type, struct err *err)
{
	int shown = (int)MIN(strcspn(type, "; \t"), (size_t)LIMIT_MIME_TYPE_BYTES);
	size_t len = 0;
	const char *rule = deny ? mimelist_find(deny, type, &len) : NULL;

	if (rule)
		return err_set(
			err, ERR_MEDIA_TYPE,
			"The content is %.*s, which this service refuses (UPLOAD_DENY has '%.*s').",
			shown, type, (int)MIN(len, (size_t)60), rule);
	if (!allow || allow[strspn(allow, SEPARATORS)] == '\0' || mimelist_find(allow, type, &len))
		return 0;
	return err_set(
		err, ERR_MEDIA_TYPE,
		"The content is %.*s, which is not among the types that this service accepts "
		"(UPLOAD_ALLOW is '%.80s').",
		shown, type, allow);
}
