/* What uploads.h says. */
#include "system/uploads.h"

#include "base/alloc.h"
#include "base/err.h"
#include "store/quota.h"
#include "store/store.h"
#include "support/answer.h"
#include "support/form.h"
#include "support/front.h"
#include "support/service.h"
#include "support/tool.h"
#include "support/web.h"

#include <check.h>
#include <ftw.h>
#include <string.h>

static int found;

void uploads_send(struct front *web, struct strbuf *body, struct answer *out)
{
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d/v1/files", web->port);

	form_end(body);
	ck_assert(strbuf_ok(body));
	web_call(
		&(struct web_request){
			.url = url,
			.body = body->buf,
			.len = body->len,
			.headers = (const char *const[]){ "Content-Type: " FORM_TYPE, NULL },
			.ms = 120000 },
		out);
	strbuf_reset(body);
}

void uploads_put(struct front *web, const char *filename, const void *data, size_t len,
		 char *out_id)
{
	AUTO(strbuf) body = STRBUF(UPLOADS_BODY_MAX);
	AUTO(answer) a = ANSWER_INIT;

	form_file(&body, "file", filename, "image/png", data, len);
	uploads_send(web, &body, &a);
	WANT_STATUS(&a, 201);
	snprintf(out_id, IDENT_UUID, "%s", answer_str(&a, "file_id"));
}

void uploads_bytes(struct strbuf *out, size_t len, unsigned seed)
{
	uint32_t x = seed * 2654435761u + 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223; /* Numerical Recipes' generator */
		strbuf_addch(out, (char)(x >> 24));
	}
}

void uploads_fill(struct front *web, const char *filename, size_t len, unsigned seed,
		  struct answer *out)
{
	AUTO(strbuf) body = STRBUF(UPLOADS_BODY_MAX);
	AUTO(strbuf) data = STRBUF(UPLOADS_BODY_MAX);

	uploads_bytes(&data, len, seed);
	form_file(&body, "file", filename, "text/plain", data.buf, data.len);
	uploads_send(web, &body, out);
}

void uploads_at(struct front *web, const char *method, const char *id, struct answer *out)
{
	AUTO_FREE char *path = xasprintf("/v1/files/%s", id);

	front_call(web, method, path, NULL, NULL, out);
}

static int count_one(const char *path, const struct stat *st UNUSED, int type, struct FTW *ftw)
{
	found += type == FTW_F && strcmp(path + ftw->base, "usage") != 0;
	return 0;
}

int uploads_on_disk(const struct service *s)
{
	AUTO_FREE char *dir = xasprintf("%s/files", s->dir);

	found = 0;
	(void)nftw(dir, count_one, 16, FTW_PHYS);
	return found;
}

static void read_usage(const struct service *s, struct usage *total, struct usage *tenant)
{
	AUTO_FREE char *dir = xasprintf("%s/files", s->dir);
	const struct store_limits none = { 0 };
	AUTO(store) store = STORE_INIT;
	struct err err = ERR_INIT;

	ck_assert_msg(store_open(&store, dir, &none, &err) == 0 &&
			      quota_read(&store, "local", total, tenant, &err) == 0,
		      "%s: %s", err.text, err.cause);
}

static bool is_empty(void *arg)
{
	struct usage total, tenant;

	if (uploads_on_disk(arg) > 0)
		return false;
	read_usage(arg, &total, &tenant);
	return total.bytes == 0 && total.files == 0 && tenant.bytes == 0 && tenant.files == 0;
}

void uploads_want_nothing(const struct service *s)
{
	struct usage total, tenant;

	if (tool_until(is_empty, (void *)s, TOOL_WAIT_MS))
		return;
	read_usage(s, &total, &tenant);
	ck_abort_msg("%d files are on the disk; the counters say %ld and %ld files, %ld and %ld "
		     "bytes",
		     uploads_on_disk(s), (long)total.files, (long)tenant.files, (long)total.bytes,
		     (long)tenant.bytes);
}

void uploads_want_listed(const struct service *s, struct front *web, size_t count)
{
	AUTO(answer) a = ANSWER_INIT;
	struct usage total, tenant;

	front_call(web, "GET", "/v1/files", NULL, NULL, &a);
	WANT_STATUS(&a, 200);
	WANT(&a, json_object_array_length(answer_get(&a, "files")) == count);
	/* content and meta.json */
	ck_assert_int_eq(uploads_on_disk(s), 2 * (int)count);
	read_usage(s, &total, &tenant);
	ck_assert_int_eq(total.files, (int64_t)count);
	ck_assert_int_eq(tenant.files, (int64_t)count);
}
