/*
 * /v1/files through a real nginx: names come back as they were, bad names leave nothing, uploads at
 * the same time keep apart, files end after their time.
 */
#include "base/alloc.h"
#include "limits.h"
#include "suites.h"
#include "support/answer.h"
#include "support/form.h"
#include "support/front.h"
#include "support/service.h"
#include "support/tool.h"
#include "system/uploads.h"
#include "wire/param.h"
#include "wire/sha256.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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

static void delete_all(const struct answer *list)
{
	struct json_object *files = answer_get(list, "files"), *id;

	for (size_t i = 0; i < json_object_array_length(files); i++) {
		AUTO(answer) a = ANSWER_INIT;
		json_object_object_get_ex(json_object_array_get_idx(files, i), "file_id", &id);
		uploads_at(&web, "DELETE", json_object_get_string(id), &a);
		WANT(&a, a.status == 204);
	}
}

static void clean(void)
{
	AUTO(answer) a = ANSWER_INIT;

	front_call(&web, "GET", "/v1/files", NULL, NULL, &a);
	WANT_STATUS(&a, 200);
	delete_all(&a);
	uploads_want_nothing(&svc);
}

#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define E25                                                                                        \
	"\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"     \
	"\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"
static const char *const names[] = {
	"Relev\u00e9 \u2013 \u00e9t\u00e9 (v1).csv",
	"plain.txt",
	"two  words .txt",
	" blank at both ends ",
	"\"quoted\" 'twice'.txt",
	".hidden",
	"...",
	"-rf",
	"--help",
	"~",
	"100% sure; a=b, c.txt",
	"back\\slash.txt",
	"#?&+*<>|:$`!.txt",
	"\U0001f40d\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u4e2d\u6587 e\u0301.txt",
	X50 X50 X50 X50 X50 "12345",
	E25 E25 E25 E25 E25 "12345",
};

/* The name in Content-Disposition, as RFC 8187 reads it. */
static void want_disposition(const struct answer *a, const char *name)
{
	const char *header = answer_header(a, "Content-Disposition");
	AUTO(strbuf) exact = STRBUF(LIMIT_NAME_BYTES);
	struct param_list params;

	WANT(a, header && param_parse(&params, header, strlen(header), NULL) == 0);
	WANT(a, param_first_is(&params, "attachment") && param_find(&params, "filename"));
	WANT(a, param_ext(param_find(&params, "filename*"), &exact, NULL) == 0);
	ck_assert_str_eq(exact.buf, name);
}

static void want_listed(const char *id, const char *name)
{
	AUTO(answer) a = ANSWER_INIT;
	struct json_object *file, *value;

	front_call(&web, "GET", "/v1/files", NULL, NULL, &a);
	file = answer_find(&a, "files", "file_id", id);
	WANT(&a, file && json_object_object_get_ex(file, "filename", &value));
	ck_assert_str_eq(json_object_get_string(value), name);
}

START_TEST(names_come_back)
{
	AUTO(strbuf) body = STRBUF(UPLOADS_BODY_MAX);
	AUTO(answer) up = ANSWER_INIT;
	AUTO(answer) down = ANSWER_INIT;
	AUTO(answer) head = ANSWER_INIT;

	form_file(&body, "file", names[_i], "application/x-lie", "a,b\n1,2\n", 8);
	uploads_send(&web, &body, &up);
	WANT_STATUS(&up, 201);
	WANT_STR(&up, "filename", names[_i]);
	WANT_INT(&up, "size_bytes", 8);
	want_listed(answer_str(&up, "file_id"), names[_i]);
	uploads_at(&web, "GET", answer_str(&up, "file_id"), &down);
	WANT(&down, down.status == 200);
	WANT(&down, down.body.len == 8 && memcmp(down.body.buf, "a,b\n1,2\n", 8) == 0);
	want_disposition(&down, names[_i]);
	uploads_at(&web, "HEAD", answer_str(&up, "file_id"), &head);
	WANT(&head, head.status == 200 && head.body.len == 0);
	want_disposition(&head, names[_i]);
	clean();
}
END_TEST

static const char *const bad_names[] = {
	"; name=\"file\"; filename=\"../../tmp/x\"",
	"; name=\"file\"; filename=\"/tmp/x\"",
	"; name=\"file\"; filename=\"a/../../x\"",
	"; name=\"file\"; filename=\"..\"",
	"; name=\"file\"; filename=\".\"",
	"; name=\"file\"; filename=\"\"",
	"; name=\"file\"; filename*=UTF-8''..%2F..%2Ftmp%2Fx",
	"; name=\"file\"; filename*=UTF-8''a%00b",
	"; name=\"file\"; filename*=UTF-8''a%0Ab",
	"; name=\"file\"; filename=\"\xff\"",
	"; name=\"file\"; filename=\"" X50 X50 X50 X50 X50 "123456\"",
};

static void want_bad_name(const char *params)
{
	AUTO(strbuf) body = STRBUF(UPLOADS_BODY_MAX);
	AUTO(answer) a = ANSWER_INIT;

	form_file(&body, "file", "good.txt", "text/plain", "good", 4);
	form_part(&body, params, "bad", 3);
	uploads_send(&web, &body, &a);
	WANT_STATUS(&a, 400);
	WANT_STR(&a, "error.code", "bad_file_name");
	WANT_IN(&a, "detail", "ile name");
	uploads_want_nothing(&svc);
}

START_TEST(bad_names_leave_nothing)
{
	want_bad_name(bad_names[_i]);
}
END_TEST

START_TEST(a_name_of_5000_bytes_leaves_nothing)
{
	AUTO(strbuf) params = STRBUF(6000);

	strbuf_addstr(&params, "; name=\"file\"; filename=\"");
	for (int i = 0; i < 5000; i++)
		strbuf_addch(&params, 'x');
	strbuf_addch(&params, '"');
	want_bad_name(params.buf);
}
END_TEST

/* Case C17 for the store: a name is no key. */
START_TEST(one_name_twice_is_two_files)
{
	char first[IDENT_UUID], second[IDENT_UUID];
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) b = ANSWER_INIT;

	uploads_put(&web, "image.png", "A", 1, first);
	uploads_put(&web, "image.png", "B", 1, second);
	ck_assert_str_ne(first, second);
	uploads_at(&web, "GET", first, &a);
	uploads_at(&web, "GET", second, &b);
	WANT(&a, a.body.len == 1 && a.body.buf[0] == 'A');
	WANT(&b, b.body.len == 1 && b.body.buf[0] == 'B');
	clean();
}
END_TEST

#define TOGETHER 8
#define EACH_BYTES (3 << 20)
struct result {
	char id[IDENT_UUID], sha256[SHA256_HEX];
};

static void upload_in_child(unsigned seed, struct result *out)
{
	AUTO(answer) a = ANSWER_INIT;
	char name[16];

	snprintf(name, sizeof(name), "f%u", seed);
	uploads_fill(&web, name, EACH_BYTES, seed, &a);
	if (a.status != 201 || strcmp(answer_str(&a, "filename"), name) != 0)
		_exit(1);
	snprintf(out->id, sizeof(out->id), "%s", answer_str(&a, "file_id"));
	snprintf(out->sha256, sizeof(out->sha256), "%s", answer_str(&a, "sha256"));
	_exit(0);
}

static void want_result(const struct result *r, unsigned seed)
{
	AUTO(strbuf) want = STRBUF(EACH_BYTES);
	AUTO(answer) a = ANSWER_INIT;
	char hex[SHA256_HEX];
	struct sha256 sum;

	uploads_bytes(&want, EACH_BYTES, seed);
	sha256_init(&sum);
	sha256_add(&sum, want.buf, want.len);
	sha256_hex(&sum, hex);
	ck_assert(ident_is_uuid(r->id));
	ck_assert_str_eq(r->sha256, hex);
	uploads_at(&web, "GET", r->id, &a);
	WANT(&a, a.status == 200 && a.body.len == want.len &&
			 memcmp(a.body.buf, want.buf, want.len) == 0);
}

START_TEST(uploads_at_once_keep_apart)
{
	struct result *all = mmap(NULL, TOGETHER * sizeof(*all), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[TOGETHER];

	ck_assert_ptr_ne(all, MAP_FAILED);
	for (unsigned i = 0; i < TOGETHER; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			upload_in_child(i, &all[i]);
	}
	for (unsigned i = 0; i < TOGETHER; i++)
		ck_assert_int_eq(tool_wait(pids[i], TOOL_WAIT_MS), 0);
	for (unsigned i = 0; i < TOGETHER; i++) {
		want_result(&all[i], i);
		for (unsigned k = 0; k < i; k++)
			ck_assert_str_ne(all[i].id, all[k].id);
	}
	clean();
}
END_TEST

static bool is_gone(void *arg)
{
	AUTO(answer) a = ANSWER_INIT;

	uploads_at(&web, "GET", arg, &a);
	return a.status == 404;
}

START_TEST(files_end_after_their_time)
{
	AUTO(answer) list = ANSWER_INIT;
	char id[IDENT_UUID];

	uploads_put(&web, "x", "some text", 9, id);
	ck_assert(tool_until(is_gone, id, 5000));
	front_call(&web, "GET", "/v1/files", NULL, NULL, &list);
	WANT_STATUS(&list, 200);
	WANT(&list, json_object_array_length(answer_get(&list, "files")) == 0);
}
END_TEST

static void setup_short(void)
{
	service_up(&svc, (const char *const[]){ "FILE_TTL_SEC=1", NULL });
	front_start(&web, &svc, NULL);
}

Suite *suite_upload(void)
{
	Suite *s = suite_create("upload");
	TCase *t = tcase_create("upload"), *ttl = tcase_create("ttl");

	tcase_set_timeout(t, 240);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, names_come_back, 0, ARRAY_SIZE(names));
	tcase_add_loop_test(t, bad_names_leave_nothing, 0, ARRAY_SIZE(bad_names));
	tcase_add_test(t, a_name_of_5000_bytes_leaves_nothing);
	tcase_add_test(t, one_name_twice_is_two_files);
	tcase_add_test(t, uploads_at_once_keep_apart);
	suite_add_tcase(s, t);
	tcase_set_timeout(ttl, 120);
	tcase_add_unchecked_fixture(ttl, setup_short, teardown);
	tcase_add_test(ttl, files_end_after_their_time);
	suite_add_tcase(s, ttl);
	return s;
}
