#pragma once

#include "base/base.h"

/* SHA-256 (FIPS 180-4), incremental; libnettle's, which uses the processor's own instructions. */
struct sha256 {
	_Alignas(8) uint8_t state[112]; /* struct sha256_ctx: sha256.c checks the size */
};
#define SHA256_HEX 65
void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
/* Lower-case hexadecimal and NUL. Ends the sum. */
void sha256_hex(struct sha256 *s, char *out);
