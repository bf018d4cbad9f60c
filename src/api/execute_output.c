/*
 * The files of a program on their way into the answer: hashed, typed, and written as base64 JSON
 * while they come, so that no file is held twice. Driven by run_job through a run_sink; a file that
 * does not come whole leaves no trace.
 */
#include "api/execute.h"
#include "api/members.h"
#include "base/err.h"
#include "store/mime.h"
#include "wire/base64.h"

#include <string.h>

/* JSON around one content: escaped path, hash, type, names of members. */
#define ENTRY_BYTES (2 * LIMIT_PATH_BYTES + 512)

void execute_output_init(struct execute_output *o, uint64_t files_max)
{
	memset(o, 0, sizeof(*o));
	strbuf_init(&o->json, (LIMIT_INLINE_BYTES / 3 + 1) * 4 + files_max * ENTRY_BYTES);
}

void execute_output_clear(struct execute_output *o)
{
	strbuf_clear(&o->json);
}

static int output_begin(void *arg, const char *path, uint64_t size, struct err *err)
{
	struct execute_output *o = arg;

	if (size > LIMIT_INLINE_BYTES - o->total)
		return err_set(err, ERR_TOO_LARGE, "output files have more than %d bytes together",
			       LIMIT_INLINE_BYTES);
	o->total += size;
	o->start = o->json.len;
	o->head_len = o->rest_len = 0;
	sha256_init(&o->sha);
	if (o->json.len > 0)
		strbuf_addch(&o->json, ',');
	strbuf_addch(&o->json, '{');
	member_str(&o->json, "path", path);
	member_str(&o->json, "kind", "file");
	member_int(&o->json, "size_bytes", (int64_t)size);
	member_open(&o->json, "content_base64", '"');
	return 0;
}

static void encode(struct execute_output *o, const uint8_t *data, size_t len)
{
	while (o->rest_len > 0 && len > 0) {
		o->rest[o->rest_len++] = *data++;
		len--;
		if (o->rest_len == sizeof(o->rest)) {
			base64_encode(&o->json, o->rest, sizeof(o->rest));
			o->rest_len = 0;
		}
	}
	base64_encode(&o->json, data, len - len % 3);
	memcpy(o->rest + o->rest_len, data + (len - len % 3), len % 3);
	o->rest_len += len % 3;
}

static int output_data(void *arg, const void *data, size_t len, struct err *err)
{
	struct execute_output *o = arg;
	size_t head = MIN(len, sizeof(o->head) - o->head_len);
	(void)err;

	memcpy(o->head + o->head_len, data, head);
	o->head_len += head;
	sha256_add(&o->sha, data, len);
	encode(o, data, len);
	return 0;
}

static int output_end(void *arg, struct err *err)
{
	struct execute_output *o = arg;
	char hex[SHA256_HEX];

	base64_encode(&o->json, o->rest, o->rest_len);
	strbuf_addch(&o->json, '"');
	member_str(&o->json, "mime_type", mime_of(o->head, o->head_len));
	sha256_hex(&o->sha, hex);
	member_str(&o->json, "sha256", hex);
	strbuf_addch(&o->json, '}');
	return strbuf_ok(&o->json)
		       ? 0
		       : err_set(err, ERR_TOO_LARGE, "the output files do not fit into the answer");
}

static void output_abort(void *arg)
{
	struct execute_output *o = arg;

	strbuf_cut(&o->json, o->start);
}

struct run_sink execute_output_sink(struct execute_output *o)
{
	return (struct run_sink){ output_begin, output_data, output_end, output_abort, o };
}
