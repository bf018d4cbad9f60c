/*
 * Random names: UUIDs for files and requests, hexadecimal digits for temporary ones. The bytes come
 * from the kernel; there is no fallback, because a guessable id would be a hole.
 */
#include "base/ident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char digits[] = "0123456789abcdef";

static void fill_random(uint8_t *out, size_t len)
{
	/* At most 32 bytes: getrandom gives them whole or, before the pool is ready, waits. */
	while (getrandom(out, len, 0) != (ssize_t)len) {
		if (errno != EINTR)
			abort();
	}
}

void ident_hex(char *out, size_t n)
{
	uint8_t bytes[32];

	if (n > 2 * sizeof(bytes))
		n = 2 * sizeof(bytes);
	fill_random(bytes, sizeof(bytes));
	for (size_t i = 0; i < n; i++)
		out[i] = digits[i % 2 ? bytes[i / 2] & 15 : bytes[i / 2] >> 4];
	out[n] = '\0';
}

static bool is_dash_at(size_t i)
{
	return i == 8 || i == 13 || i == 18 || i == 23;
}

void ident_uuid(char *out)
{
	char hex[33];
	size_t k = 0;

	ident_hex(hex, 32);
	hex[12] = '4';						  /* version */
	hex[16] = "89ab"[(strchr(digits, hex[16]) - digits) & 3]; /* variant 10xx */
	for (size_t i = 0; i < IDENT_UUID - 1; i++)
		out[i] = is_dash_at(i) ? '-' : hex[k++];
	out[IDENT_UUID - 1] = '\0';
}

bool ident_is_uuid(const char *s)
{
	if (strnlen(s, IDENT_UUID) != IDENT_UUID - 1)
		return false;
	for (size_t i = 0; i < IDENT_UUID - 1; i++) {
		if (is_dash_at(i) ? s[i] != '-' : !strchr(digits, s[i]))
			return false;
	}
	return s[14] == '4' && strchr("89ab", s[19]);
}
