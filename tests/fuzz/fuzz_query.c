/*
 * Properties: what query_parse accepts comes back unchanged when its values are encoded and parsed
 * again; param_parse never reads outside its text, and what it finds lies inside. The first byte
 * chooses which of the two gets the rest.
 */
#include "base/alloc.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "wire/param.h"
#include "wire/query.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode(struct strbuf *out, const char *text)
{
	for (; *text; text++)
		strbuf_addf(out, "%%%02X", (unsigned char)*text);
}

static void check_query(const char *text, size_t len)
{
	AUTO(strbuf) again = STRBUF(16 << 20);
	struct query q = { 0 }, r = { 0 };

	if (query_parse(&q, text, len, NULL) == 0) {
		for (size_t i = 0; i < q.count; i++) {
			encode(&again, q.items[i].name);
			strbuf_addch(&again, '=');
			encode(&again, q.items[i].value);
			strbuf_addch(&again, '&');
		}
		if (query_parse(&r, again.buf, again.len, NULL) < 0 || r.count != q.count)
			abort();
		for (size_t i = 0; i < q.count; i++) {
			const char *value = query_get(&r, q.items[i].name);

			if (!value || strcmp(value, q.items[i].value) != 0)
				abort();
		}
	}
	query_clear(&q);
	query_clear(&r);
}

static void check_params(const char *text, size_t len)
{
	AUTO(strbuf) value = STRBUF(1 << 20);
	struct param_list list;

	if (param_parse(&list, text, len, NULL) < 0)
		return;
	for (size_t i = 0; i < list.count; i++) {
		const struct param *p = &list.items[i];

		if (p->name < text || p->value < p->name || p->value + p->value_len > text + len)
			abort();
		strbuf_reset(&value);
		param_text(p, &value);
		if (value.len > p->value_len)
			abort();
		strbuf_reset(&value);
		(void)param_ext(p, &value, NULL);
		if (value.len > 2 * p->value_len)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A block of its own, so that the sanitizer sees a read behind the end; also of an empty
	 * text. */
	AUTO_FREE char *text = NULL;

	if (size < 1)
		return 0;
	text = xmalloc(size - 1);
	memcpy(text, data + 1, size - 1);
	if (data[0] & 1)
		check_query(text, size - 1);
	else
		check_params(text, size - 1);
	return 0;
}
