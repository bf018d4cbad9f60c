/*
 * The ids of stored files through a real nginx: they have one form, whatever its encoding, and no
 * path that is made from one leads out of the store.
 */
#include "base/alloc.h"
#include "suites.h"
#include "support/answer.h"
#include "support/front.h"
#include "support/service.h"
#include "support/tool.h"
#include "system/uploads.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct service svc;
static struct front web;

static void setup(void)
{
	service_up(&svc, NULL);
	front_start(&web, &svc, NULL);
}

static void teardown(void)
{
	front_stop(&web);
	service_clear(&svc);
}

/* Forms of the id of a file that is there: U stands for the id, V for it in upper case. */
static const struct {
	const char *form;
	int front, direct; /* status through nginx, and from the service itself */
} id_rows[] = {
	{ "V", 400, 400 },
	{ "{U}", 400, 400 },
	{ "%7BU%7D", 400, 400 },
	{ "urn:uuid:U", 400, 400 },
	{ "U0", 400, 400 },
	{ "0U", 400, 400 },
	{ "U%20", 400, 400 },
	{ "%20U", 400, 400 },
	{ "U%0a", 400, 400 },
	{ "U%00", 400, 400 },
	{ "U%00.txt", 400, 400 },
	{ "U.", 400, 400 },
	{ "U%2e", 400, 400 },
	{ "U;x", 400, 400 },
	{ "U%2F", 400, 400 },
	{ "U%2Fcontent", 400, 400 },
	{ "U%5Ccontent", 400, 400 },
	{ "..%2FU", 400, 400 },
	{ "..%2f..%2f..%2fetc%2fpasswd", 400, 400 },
	{ "%2e%2e", 400, 400 },
	{ "%2e", 400, 400 },
	{ "%252e%252e", 400, 400 },
	{ "%c0%ae%c0%ae", 400, 400 },
	{ "0e3b6f3c-6a3e-4b57-9c39-0c6d7f1a2b3", 400, 400 },   /* 35 */
	{ "0e3b6f3c-6a3e-4b57-9c39-0c6d7f1a2b3c0", 400, 400 }, /* 37 */
	{ "0e3b6f3c-6a3e-1b57-9c39-0c6d7f1a2b3c", 400, 400 },  /* version 1 */
	{ "0e3b6f3c-6a3e-4b57-7c39-0c6d7f1a2b3c", 400, 400 },  /* another variant */
	{ "0e3b6f3c6a3e4b579c390c6d7f1a2b3c", 400, 400 },
	{ "00000000-0000-0000-0000-000000000000", 400, 400 },
	{ "*", 400, 400 },
	{ "U/content", 404, 404 },
	{ "../files/U", 400, 400 },
	{ "0e3b6f3c-6a3e-4b57-9c39-0c6d7f1a2b3c", 404, 404 },
};

static void fill_in(char *out, size_t max, const char *form, const char *id)
{
	size_t n = 0;

	for (const char *s = form; *s && n + IDENT_UUID < max; s++) {
		if (*s != 'U' && *s != 'V') {
			out[n++] = *s;
			continue;
		}
		for (const char *c = id; *c; c++)
			out[n++] = *s == 'V' && *c >= 'a' ? (char)(*c - 32) : *c;
	}
	out[n] = '\0';
}

static void want_refused(const char *id, int by_front, int direct)
{
	static const char *const methods[] = { "GET", "HEAD", "DELETE" };
	AUTO_FREE char *path = xasprintf("/v1/files/%s", id);

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		AUTO(answer) a = ANSWER_INIT;
		AUTO(answer) b = ANSWER_INIT;
		uploads_at(&web, methods[i], id, &a);
		WANT(&a, a.status == by_front);
		service_call(&svc, methods[i], path, NULL, &b);
		WANT(&b, b.status == direct);
	}
}

START_TEST(ids_have_one_form)
{
	AUTO(answer) execute = ANSWER_INIT;
	AUTO(answer) gone = ANSWER_INIT;
	AUTO(strbuf) digits = STRBUF(3000);
	char id[IDENT_UUID] = "", path[200];

	uploads_put(&web, "x", "some text", 9, id);
	for (size_t i = 0; i < ARRAY_SIZE(id_rows); i++) {
		fill_in(path, sizeof(path), id_rows[i].form, id);
		want_refused(path, id_rows[i].front, id_rows[i].direct);
	}
	for (int i = 0; i < 2000; i++)
		strbuf_addch(&digits, 'a');
	want_refused(digits.buf, 400, 400);
	service_try(&svc, "", "\"files\":[{\"path\":\"a\",\"file_id\":\"../x\"}]", &execute);
	WANT_STATUS(&execute, 400);
	WANT_STR(&execute, "error.code", "bad_id");
	uploads_want_listed(&svc, &web, 1);
	uploads_at(&web, "DELETE", id, &gone);
	WANT(&gone, gone.status == 204);
	uploads_want_nothing(&svc);
}
END_TEST

/* What root has put into the store: each of the three names of a stored file's path as a link. */
static const char *const link_rows[] = { "shelf", "folder", "content", "meta.json" };

START_TEST(links_lead_nowhere)
{
	AUTO_FREE char *away = xasprintf("%s/away-%d", svc.dir, _i);
	char id[IDENT_UUID], at[400], to[400];
	const char *part = link_rows[_i];
	AUTO(answer) list = ANSWER_INIT;
	struct stat st;

	uploads_put(&web, "secret.txt", "the secret", 10, id);
	if (strcmp(part, "shelf") == 0)
		snprintf(at, sizeof(at), "%s/files/local/%.2s", svc.dir, id);
	else if (strcmp(part, "folder") == 0)
		snprintf(at, sizeof(at), "%s/files/local/%.2s/%s", svc.dir, id, id);
	else
		snprintf(at, sizeof(at), "%s/files/local/%.2s/%s/%s", svc.dir, id, id, part);
	ck_assert_msg(rename(at, away) == 0 && symlink(away, at) == 0, "%s", strerror(errno));
	for (int i = 0; i < 2; i++) {
		AUTO(answer) a = ANSWER_INIT;
		uploads_at(&web, i == 0 ? "GET" : "DELETE", id, &a);
		WANT(&a, a.status == 404 || (a.status == 204 && i == 1));
		WANT(&a, !memmem(a.body.buf, a.body.len, "the secret", 10));
	}
	front_call(&web, "GET", "/v1/files", NULL, NULL, &list);
	WANT_STATUS(&list, 200);
	WANT(&list, !answer_find(&list, "files", "file_id", id));
	/* What the link points to is as it was. */
	snprintf(to, sizeof(to), "%s%s%s%s", away, _i == 0 ? "/" : "", _i == 0 ? id : "",
		 _i < 2 ? "/content" : "");
	ck_assert_msg(stat(to, &st) == 0 && st.st_size >= 10, "%s: %s", to, strerror(errno));
	AUTO_FREE char *local = xasprintf("%s/files/local/%.2s", svc.dir, id);
	ck_assert(unlink(at) == 0 || errno == ENOENT);
	tool_rmtree(local);
}
END_TEST

Suite *suite_upload_ids(void)
{
	Suite *s = suite_create("upload_ids");
	TCase *t = tcase_create("upload_ids");

	tcase_set_timeout(t, 240);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_test(t, ids_have_one_form);
	tcase_add_loop_test(t, links_lead_nowhere, 0, ARRAY_SIZE(link_rows));
	suite_add_tcase(s, t);
	return s;
}
