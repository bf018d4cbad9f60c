/*
 * The part of an address behind the question mark. Called by handlers that page or filter. Strict,
 * because a value that is read in two ways by two programs on its way is how filters are walked
 * around: a name that comes twice and a bad escape are errors.
 */
#include "wire/query.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/num.h"
#include "base/utf8.h"
#include "wire/param.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Decodes s[0..len) to *at, which is moved behind the NUL that ends it. */
static int decode(const char *s, size_t len, char **at, struct err *err)
{
	char *from = *at, *to = from;

	for (size_t i = 0; i < len; i++) {
		int byte = s[i] == '+' ? ' ' : (unsigned char)s[i];

		if (s[i] == '%') {
			byte = param_percent(s + i, len - i);
			i += 2;
		}
		if (byte < 0)
			return err_set(err, ERR_BAD_REQUEST,
				       "The query has a '%%' that begins no escape.");
		if (byte == 0)
			return err_set(err, ERR_BAD_REQUEST, "The query contains a NUL byte.");
		*to++ = (char)byte;
	}
	if (!utf8_valid(from, (size_t)(to - from)))
		return err_set(err, ERR_BAD_REQUEST, "The query is not valid UTF-8.");
	*to++ = '\0';
	*at = to;
	return 0;
}

static int add_pair(struct query *q, const char *s, size_t len, char **at, struct err *err)
{
	const char *equals = memchr(s, '=', len);
	size_t name_len = equals ? (size_t)(equals - s) : len;
	const char *name = *at, *value;

	if (decode(s, name_len, at, err) < 0)
		return -1;
	value = *at;
	if (decode(s + name_len + (equals ? 1 : 0), equals ? len - name_len - 1 : 0, at, err) < 0)
		return -1;
	if (query_get(q, name))
		return err_set(err, ERR_BAD_REQUEST, "The query has the parameter '%.40s' twice.",
			       name);
	if (q->count == LIMIT_QUERY_PARAMS)
		return err_set(err, ERR_BAD_REQUEST, "The query has more than %d parameters.",
			       LIMIT_QUERY_PARAMS);
	q->items[q->count].name = name;
	q->items[q->count++].value = value;
	return 0;
}

int query_parse(struct query *q, const char *text, size_t len, struct err *err)
{
	char *at;

	q->count = 0;
	/* Decoding never makes text longer; each piece between two '&' gets at most two NULs for
	 * one '&' and maybe one '='. */
	q->text = at = xmalloc(2 * len + 2);
	for (size_t i = 0, n; i < len; i += n + 1) {
		const char *amp = memchr(text + i, '&', len - i);

		n = amp ? (size_t)(amp - text) - i : len - i;
		if (n && add_pair(q, text + i, n, &at, err) < 0)
			return -1;
	}
	return 0;
}

void query_clear(struct query *q)
{
	free(q->text);
	q->text = NULL;
	q->count = 0;
}

const char *query_get(const struct query *q, const char *name)
{
	for (size_t i = 0; i < q->count; i++) {
		if (strcmp(q->items[i].name, name) == 0)
			return q->items[i].value;
	}
	return NULL;
}

int query_int(const struct query *q, const char *name, int64_t min, int64_t max, int64_t fallback,
	      int64_t *out, struct err *err)
{
	const char *value = query_get(q, name);

	if (!value || !*value) {
		*out = fallback;
		return 0;
	}
	if (!num_int(value, min, max, out))
		return err_set(
			err, ERR_INVALID,
			"The parameter '%s' is '%.40s'; it must be a whole number from %" PRId64
			" to %" PRId64 ".",
			name, value, min, max);
	return 0;
}
