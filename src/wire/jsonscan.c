/*
 * Decides whether bytes are JSON: RFC 8259's grammar, UTF-8, no name twice in an object, and bounds
 * on depth, names and values. A recursive descent, so the depth limit also bounds the stack. It
 * builds nothing but the names of the objects that are open, which are compared when each object
 * ends: sorted, so that many names cost no more than n log n.
 */
#include "base/alloc.h"
#include "base/err.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "limits.h"
#include "wire/json.h"

/* A member's name, decoded, in scan.names; `at` is where it stands in the text. */
struct key {
	size_t from, len, at;
};

#define TEXT_OF(macro) TEXT_OF_TOKEN(macro)
#define TEXT_OF_TOKEN(token) #token

struct scan {
	const char *s;
	size_t len, at, depth;
	struct strbuf names;
	struct key *keys;
	size_t keys_count, keys_cap; /* of the open objects */
	size_t keys_seen, values;    /* of the whole text */
	struct err *err;
};

static int scan_value(struct scan *j);

static int fail_at(struct scan *j, size_t at, const char *why)
{
	return err_set(j->err, ERR_BAD_JSON, "Not valid JSON at byte %zu: %s.", at, why);
}

static int fail(struct scan *j, const char *why)
{
	return fail_at(j, j->at, j->at < j->len ? why : "the text ends too early");
}

/* The next byte, or NUL, which is no part of JSON outside of escapes. */
static char peek(const struct scan *j)
{
	return j->at < j->len ? j->s[j->at] : '\0';
}

static void skip_blanks(struct scan *j)
{
	while (j->at < j->len && strchr(" \t\r\n", j->s[j->at]) && j->s[j->at])
		j->at++;
}

static bool take(struct scan *j, char c)
{
	if (peek(j) != c)
		return false;
	j->at++;
	return true;
}

static void add_utf8(struct strbuf *out, uint32_t c)
{
	if (c < 0x80) {
		strbuf_addch(out, (char)c);
	} else if (c < 0x800) {
		strbuf_addch(out, (char)(0xc0 | c >> 6));
		strbuf_addch(out, (char)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		strbuf_addch(out, (char)(0xe0 | c >> 12));
		strbuf_addch(out, (char)(0x80 | (c >> 6 & 63)));
		strbuf_addch(out, (char)(0x80 | (c & 63)));
	} else {
		strbuf_addch(out, (char)(0xf0 | c >> 18));
		strbuf_addch(out, (char)(0x80 | (c >> 12 & 63)));
		strbuf_addch(out, (char)(0x80 | (c >> 6 & 63)));
		strbuf_addch(out, (char)(0x80 | (c & 63)));
	}
}

/* Behind "\u": four digits. */
static bool take_hex4(struct scan *j, uint32_t *out)
{
	uint64_t v;

	if (j->len - j->at < 4 || !num_hex(j->s + j->at, 4, &v))
		return false;
	j->at += 4;
	*out = (uint32_t)v;
	return true;
}

/* Behind "\u": one character, maybe of two escapes. */
static int scan_unicode(struct scan *j, uint32_t *out)
{
	uint32_t high, low;

	if (!take_hex4(j, &high))
		return fail(j, "\\u needs four hexadecimal digits");
	*out = high;
	if (high < 0xd800 || high > 0xdfff)
		return 0;
	if (high < 0xdc00 && take(j, '\\') && take(j, 'u') && take_hex4(j, &low) && low >= 0xdc00 &&
	    low <= 0xdfff) {
		*out = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
		return 0;
	}
	return fail(j, "a surrogate without its other half");
}

/* Behind a backslash. `name`: NULL unless the string is a member's name, which is collected
 * decoded. */
static int scan_escape(struct scan *j, struct strbuf *name)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *plain = peek(j) ? strchr(from, peek(j)) : NULL;
	uint32_t c = 0;

	if (plain) {
		j->at++;
		c = (uint32_t)to[plain - from];
	} else if (!take(j, 'u')) {
		return fail(j, "an unknown escape in a string");
	} else if (scan_unicode(j, &c) < 0) {
		return -1;
	}
	if (name && c == 0)
		return fail(j, "a name must not hold NUL");
	if (name)
		add_utf8(name, c);
	return 0;
}

/* From the opening quote to behind the closing one. */
static int scan_string(struct scan *j, struct strbuf *name)
{
	if (!take(j, '"'))
		return fail(j,
			    name ? "a name in double quotes is expected" : "a string is expected");
	for (;;) {
		size_t from = j->at;

		while (j->at < j->len && (unsigned char)j->s[j->at] >= 0x20 && j->s[j->at] != '"' &&
		       j->s[j->at] != '\\')
			j->at++;
		if (name)
			strbuf_add(name, j->s + from, j->at - from);
		if (take(j, '"'))
			return 0;
		if (!take(j, '\\'))
			return fail(j, "a control character in a string must be escaped");
		if (scan_escape(j, name) < 0)
			return -1;
	}
}

static bool take_digits(struct scan *j)
{
	size_t from = j->at;

	while (peek(j) >= '0' && peek(j) <= '9')
		j->at++;
	return j->at > from;
}

static int scan_number(struct scan *j)
{
	take(j, '-');
	if (!take(j, '0') && !take_digits(j))
		return fail(j, "a digit is expected");
	if (peek(j) >= '0' && peek(j) <= '9')
		return fail(j, "a number must not begin with 0");
	if (take(j, '.') && !take_digits(j))
		return fail(j, "a digit is expected after the point");
	if (take(j, 'e') || take(j, 'E')) {
		if (!take(j, '+'))
			take(j, '-');
		if (!take_digits(j))
			return fail(j, "a digit is expected in the exponent");
	}
	return 0;
}

static int scan_word(struct scan *j, const char *word)
{
	size_t n = strlen(word);

	if (j->len - j->at < n || memcmp(j->s + j->at, word, n) != 0)
		return fail(j, "a value is expected");
	j->at += n;
	return 0;
}

static int scan_name(struct scan *j)
{
	struct key key = { .from = j->names.len, .at = j->at };

	if (j->keys_seen++ >= LIMIT_JSON_KEYS)
		return fail(j, "more names than are allowed in one text");
	if (scan_string(j, &j->names) < 0)
		return -1;
	key.len = j->names.len - key.from;
	if (j->keys_count == j->keys_cap) {
		j->keys_cap = j->keys_cap ? j->keys_cap * 2 : 64;
		j->keys = xrealloc(j->keys, j->keys_cap * sizeof(*j->keys));
	}
	j->keys[j->keys_count++] = key;
	return 0;
}

static int compare_keys(const void *pa, const void *pb, void *names)
{
	const struct key *a = pa, *b = pb;
	int c = memcmp((char *)names + a->from, (char *)names + b->from, MIN(a->len, b->len));

	if (c != 0)
		return c;
	return a->len < b->len ? -1 : a->len > b->len;
}

/* The object whose names begin at keys[first] ends: no two may be equal; then they are forgotten.
 */
static int close_object(struct scan *j, size_t first)
{
	struct key *keys = j->keys + first;
	size_t count = j->keys_count - first;

	if (count == 0)
		return 0;
	j->names.len = keys[0].from;
	qsort_r(keys, count, sizeof(*keys), compare_keys, j->names.buf);
	for (size_t i = 1; i < count; i++) {
		if (compare_keys(&keys[i - 1], &keys[i], j->names.buf) == 0)
			return fail_at(j, MAX(keys[i - 1].at, keys[i].at),
				       "a name occurs twice in an object");
	}
	j->keys_count = first;
	return 0;
}

static int scan_object(struct scan *j)
{
	size_t first = j->keys_count;

	j->at++;
	skip_blanks(j);
	if (take(j, '}'))
		return 0;
	for (;;) {
		skip_blanks(j);
		if (scan_name(j) < 0)
			return -1;
		skip_blanks(j);
		if (!take(j, ':'))
			return fail(j, "':' is expected after a name");
		if (scan_value(j) < 0)
			return -1;
		if (take(j, '}'))
			return close_object(j, first);
		if (!take(j, ','))
			return fail(j, "',' or '}' is expected");
	}
}

static int scan_array(struct scan *j)
{
	j->at++;
	skip_blanks(j);
	if (take(j, ']'))
		return 0;
	for (;;) {
		if (scan_value(j) < 0)
			return -1;
		if (take(j, ']'))
			return 0;
		if (!take(j, ','))
			return fail(j, "',' or ']' is expected");
	}
}

static int scan_nested(struct scan *j)
{
	int rc;

	if (++j->depth > LIMIT_JSON_DEPTH)
		return fail(j, "nested deeper than " TEXT_OF(LIMIT_JSON_DEPTH) " levels");
	rc = peek(j) == '{' ? scan_object(j) : scan_array(j);
	j->depth--;
	return rc;
}

/* One value with the blanks around it. */
static int scan_value(struct scan *j)
{
	int rc;

	skip_blanks(j);
	if (j->values++ >= LIMIT_JSON_VALUES)
		return fail(j, "more values than are allowed in one text");
	switch (peek(j)) {
	case '{':
	case '[':
		rc = scan_nested(j);
		break;
	case '"':
		rc = scan_string(j, NULL);
		break;
	case 't':
		rc = scan_word(j, "true");
		break;
	case 'f':
		rc = scan_word(j, "false");
		break;
	case 'n':
		rc = scan_word(j, "null");
		break;
	default:
		rc = peek(j) == '-' || (peek(j) >= '0' && peek(j) <= '9')
			     ? scan_number(j)
			     : fail(j, "a value is expected");
	}
	skip_blanks(j);
	return rc;
}

/* Where the first ill-formed sequence begins; only called when there is one. */
static size_t first_bad_byte(const char *s, size_t len)
{
	size_t at = 0;

	while (at < len) {
		unsigned char lead = (unsigned char)s[at];
		size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

		if (n > len - at || !utf8_valid(s + at, n))
			break;
		at += n;
	}
	return at;
}

int jsonscan(const void *data, size_t len, struct err *err)
{
	struct scan j = { .s = data, .len = len, .names = STRBUF(len), .err = err };
	int rc;

	if (!utf8_valid(data, len))
		return fail_at(&j, first_bad_byte(data, len), "not UTF-8");
	rc = scan_value(&j);
	if (rc == 0 && j.at < len)
		rc = fail(&j, "more text after the value");
	strbuf_clear(&j.names);
	free(j.keys);
	return rc;
}
