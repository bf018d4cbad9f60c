#pragma once

#include "base/base.h"

/* SHA-256 (FIPS 180-4), incremental. */
struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[64];
};
#define SHA256_HEX 65
void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
/* Lower-case hexadecimal and NUL. */
void sha256_hex(struct sha256 *s, char *out);
