#pragma once

#include "base/base.h"

/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012), fed in pieces: tells whether a file still has the
 * bytes that were put. With a random key that the program can't read, it can't make two contents
 * that look the same.
 */
#define SIP_KEY 16

struct sip {
	uint64_t v[4];
	uint64_t word; /* bytes that don't fill a word yet */
	uint64_t len;
};

void sip_init(struct sip *s, const uint8_t key[SIP_KEY]);
void sip_add(struct sip *s, const void *data, size_t len);
uint64_t sip_end(struct sip *s);
