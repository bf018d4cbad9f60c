/* Base64: what decodes encodes to the same text, and any bytes survive both ways. */
#include "base/strbuf.h"
#include "fuzz/fuzz.h"
#include "wire/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(strbuf) plain = STRBUF(size);
	AUTO(strbuf) text = STRBUF(2 * size + 4);
	AUTO(strbuf) again = STRBUF(size);

	if (base64_decode(&plain, (const char *)data, size)) {
		base64_encode(&text, plain.buf, plain.len);
		FUZZ_CHECK(text.len == size && memcmp(text.buf, data, size) == 0);
		strbuf_reset(&text);
	} else {
		FUZZ_CHECK(plain.len == 0);
	}
	base64_encode(&text, data, size);
	FUZZ_CHECK(strbuf_ok(&text) && base64_decode(&again, text.buf, text.len));
	FUZZ_CHECK(again.len == size && memcmp(again.buf, data, size) == 0);
	return 0;
}
