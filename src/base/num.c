/*
 * Numbers from text, strictly: the whole string or nothing, and never a value outside the range
 * asked for. The only place where digits are turned into integers; strtol and its kin accept
 * blanks, signs and overflow, so they are not used.
 */
#include "base/num.h"

#include <string.h>

/* Decimal digits s[0..len) without needless leading zeros; false when none, too many for int64_t,
 * or other characters. */
static bool digits(const char *s, size_t len, bool leading_zeros, int64_t *out)
{
	int64_t v = 0;

	if (len == 0 || (!leading_zeros && len > 1 && s[0] == '0'))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		/* Downwards, because INT64_MIN has no positive counterpart. */
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, s[i] - '0', &v))
			return false;
	}
	*out = v;
	return true;
}

static bool in_range(int64_t negated, bool minus, int64_t min, int64_t max, int64_t *out)
{
	int64_t v = negated;

	if (!minus && __builtin_sub_overflow((int64_t)0, negated, &v))
		return false;
	if (v < min || v > max)
		return false;
	*out = v;
	return true;
}

bool num_int(const char *s, int64_t min, int64_t max, int64_t *out)
{
	bool minus = s[0] == '-';
	int64_t negated;

	s += minus;
	if (!digits(s, strlen(s), false, &negated) || (minus && negated == 0))
		return false;
	return in_range(negated, minus, min, max, out);
}

bool num_milli(const char *s, int64_t min, int64_t max, int64_t *out)
{
	static const int64_t scale[] = { 1000, 100, 10, 1 };
	bool minus = s[0] == '-';
	int64_t whole, part = 0;
	const char *dot;
	size_t places = 0;

	s += minus;
	dot = strchrnul(s, '.');
	if (!digits(s, (size_t)(dot - s), false, &whole))
		return false;
	if (*dot) {
		places = strlen(dot + 1);
		if (places > 3 || !digits(dot + 1, places, true, &part))
			return false;
	}
	if (__builtin_mul_overflow(whole, 1000, &whole) ||
	    __builtin_add_overflow(whole, part * scale[places], &whole))
		return false;
	if (minus && whole == 0)
		return false;
	return in_range(whole, minus, min, max, out);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool num_hex(const char *s, size_t len, uint64_t *out)
{
	uint64_t v = 0;

	if (len == 0 || len > 16)
		return false;
	for (size_t i = 0; i < len; i++) {
		int d = hex_digit(s[i]);

		if (d < 0)
			return false;
		v = v << 4 | (uint64_t)d;
	}
	*out = v;
	return true;
}
