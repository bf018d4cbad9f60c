/*
 * JSON: what the scan accepts json-c must take whole, and what json-c prints of it must be accepted
 * again and print the same.
 */
#include "base/err.h"
#include "base/strbuf.h"
#include "fuzz/fuzz.h"
#include "wire/json.h"

/* The tree's text; NULL when the bytes are refused. */
static char *canonical(const char *data, size_t len)
{
	AUTO_JSON *o = NULL;
	struct err err = ERR_INIT;

	if (json_load(data, len, &o, &err) < 0) {
		FUZZ_CHECK(err.code != ERR_NONE && err.text[0]);
		return NULL;
	}
	return strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(strbuf) quoted = STRBUF(6 * size + 2);
	bool accepted = jsonscan(data, size, NULL) == 0;
	AUTO_FREE char *first = canonical((const char *)data, size), *second = NULL;

	FUZZ_CHECK(accepted == (first != NULL));
	if (!first)
		return 0;
	second = canonical(first, strlen(first));
	FUZZ_CHECK(second && strcmp(first, second) == 0);
	json_add_string(&quoted, (const char *)data, size);
	FUZZ_CHECK(strbuf_ok(&quoted) && jsonscan(quoted.buf, quoted.len, NULL) == 0);
	return 0;
}
