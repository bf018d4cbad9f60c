/*
 * SipHash-2-4 over a stream. inputs.c hashes what is put into the workspace with it, and hashes
 * again at the end. A cryptographic digest would be four times slower for what a keyed 64-bit hash
 * decides as well. No state of its own.
 */
#include "guest/sip.h"

static uint64_t rotl(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static void rounds(uint64_t v[4], int n)
{
	for (int i = 0; i < n; i++) {
		v[0] += v[1];
		v[1] = rotl(v[1], 13) ^ v[0];
		v[0] = rotl(v[0], 32);
		v[2] += v[3];
		v[3] = rotl(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotl(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotl(v[1], 17) ^ v[2];
		v[2] = rotl(v[2], 32);
	}
}

static void add_word(struct sip *s, uint64_t word)
{
	s->v[3] ^= word;
	rounds(s->v, 2);
	s->v[0] ^= word;
}

static uint64_t load(const uint8_t *at)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | at[i];
	return v;
}

void sip_init(struct sip *s, const uint8_t key[SIP_KEY])
{
	uint64_t k0 = load(key), k1 = load(key + 8);

	*s = (struct sip){ .v = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d,
				  k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573 } };
}

static void add_byte(struct sip *s, uint8_t byte)
{
	s->word |= (uint64_t)byte << (8 * (s->len++ & 7));
	if ((s->len & 7) == 0) {
		add_word(s, s->word);
		s->word = 0;
	}
}

void sip_add(struct sip *s, const void *data, size_t len)
{
	const uint8_t *at = data, *end = at + len;

	while (at < end && (s->len & 7))
		add_byte(s, *at++);
	for (; end - at >= 8; at += 8) {
		add_word(s, load(at));
		s->len += 8;
	}
	while (at < end)
		add_byte(s, *at++);
}

uint64_t sip_end(struct sip *s)
{
	add_word(s, s->word | s->len << 56);
	s->v[2] ^= 0xff;
	rounds(s->v, 4);
	return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}
