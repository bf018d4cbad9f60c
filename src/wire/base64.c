/*
 * Base64 of RFC 4648 section 4, strict both ways: a text has exactly one decoding and bytes have
 * exactly one encoding. Used for file contents and binary output inside JSON.
 */
#include "wire/base64.h"

#include "base/strbuf.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct strbuf *out, const void *data, size_t len)
{
	const uint8_t *p = data;

	/* Whole or not at all, as every append. The division comes first: no overflow. */
	if (len / 3 > strbuf_room(out) / 4 || (len + 2) / 3 * 4 > strbuf_room(out)) {
		out->overflow = true;
		return;
	}
	for (size_t i = 0; i < len; i += 3) {
		size_t n = MIN(len - i, (size_t)3);
		uint32_t v = (uint32_t)p[i] << 16;
		char group[4];

		v |= n > 1 ? (uint32_t)p[i + 1] << 8 : 0;
		v |= n > 2 ? p[i + 2] : 0;
		group[0] = digits[v >> 18];
		group[1] = digits[v >> 12 & 63];
		group[2] = n > 1 ? digits[v >> 6 & 63] : '=';
		group[3] = n > 2 ? digits[v & 63] : '=';
		strbuf_add(out, group, sizeof(group));
	}
}

static int value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four characters to n = 1..3 bytes; the bits that padding leaves over must be zero. */
static bool group_decode(const char *text, size_t n, uint8_t *out)
{
	uint32_t v = 0;

	for (size_t i = 0; i < 4; i++) {
		int d = i <= n ? value(text[i]) : 0;

		if (d < 0)
			return false;
		v = v << 6 | (uint32_t)d;
	}
	for (size_t i = 0; i < 3; i++)
		out[i] = (uint8_t)(v >> (16 - 8 * i));
	return (n > 2 || out[2] == 0) && (n > 1 || out[1] == 0);
}

bool base64_decode(struct strbuf *out, const char *text, size_t len)
{
	size_t before = out->len, pad = 0;

	if (len % 4 != 0)
		return false;
	while (pad < 2 && len > pad && text[len - 1 - pad] == '=')
		pad++;
	for (size_t i = 0; i < len; i += 4) {
		size_t n = i + 4 == len ? 3 - pad : 3;
		uint8_t bytes[3];

		if (!group_decode(text + i, n, bytes)) {
			strbuf_cut(out, before);
			return false;
		}
		strbuf_add(out, bytes, n);
	}
	return true;
}
