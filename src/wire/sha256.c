/*
 * SHA-256 by libnettle, behind three functions so that nobody else includes it. Its context lives
 * in the caller's struct: nothing is allocated. Called by the store for every byte it takes.
 */
#include <nettle/base16.h>
#include <nettle/sha2.h>

/* The library's macros of that name: they would rename our functions. */
#undef sha256_init

#include "wire/sha256.h"

_Static_assert(sizeof(struct sha256_ctx) <= sizeof(((struct sha256 *)0)->state), "too small");

static struct sha256_ctx *context(struct sha256 *s)
{
	return (struct sha256_ctx *)(void *)s->state;
}

void sha256_init(struct sha256 *s)
{
	nettle_sha256_init(context(s));
}

void sha256_add(struct sha256 *s, const void *data, size_t len)
{
	nettle_sha256_update(context(s), len, data);
}

void sha256_hex(struct sha256 *s, char *out)
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	nettle_sha256_digest(context(s), sizeof(digest), digest);
	nettle_base16_encode_update(out, sizeof(digest), digest);
	out[BASE16_ENCODE_LENGTH(sizeof(digest))] = '\0';
}
