/* /v1/files without a web server: what an upload answers, what it refuses and that a refusal leaves
 * nothing, the list and its pages, the headers of a download, deletion. */
#include "api/api.h"
#include "conf.h"
#include "limits.h"
#include "store/quota.h"
#include "support/form.h"
#include "unit/api/api_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <ftw.h>
#include <string.h>

#define HELLO_SHA "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

static struct strbuf body = STRBUF(8 << 20);
static int found;

static void setup(void)
{
	setenv("MAX_FILE_SIZE_MB", "1", 1);
	setenv("MAX_UPLOAD_MB", "4", 1);
	setenv("UPLOAD_DENY", "application/x-executable application/x-pie-executable", 1);
	api_fixture_setup();
}

static void teardown(void)
{
	api_fixture_teardown();
	strbuf_clear(&body);
}

static int send(const char *accept)
{
	int status;

	form_end(&body);
	status = api_send(&(struct api_request){ .path = "/v1/files",
						 .type = FORM_TYPE,
						 .accept = accept,
						 .body = body.buf,
						 .len = body.len });
	strbuf_reset(&body);
	return status;
}

static void add_file(const char *filename, const char *text)
{
	form_file(&body, "file", filename, "image/png", text, strlen(text));
}

/* Uploads one file; its id. */
static void put(const char *filename, const char *text, char *out_id)
{
	add_file(filename, text);
	ck_assert_int_eq(send(NULL), 201);
	snprintf(out_id, 37, "%s", api_text("file_id"));
}

static int count_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	found += type == FTW_F && strcmp(path + ftw->base, "usage") != 0;
	return 0;
}

/* Nothing on the disk but the counters, and they say so. */
static void want_nothing_left(void)
{
	struct usage total, tenant;
	struct err err = ERR_INIT;

	found = 0;
	(void)nftw(conf->storage_dir, count_one, 16, FTW_PHYS);
	ck_assert_int_eq(found, 0);
	ck_assert_int_eq(quota_read(api_store(), API_TENANT, &total, &tenant, &err), 0);
	ck_assert_int_eq(total.bytes + total.files + tenant.bytes + tenant.files, 0);
}

START_TEST(uploads_one)
{
	add_file("a b.txt", "hello");
	ck_assert_int_eq(send(NULL), 201);
	ck_assert_str_eq(api_text("filename"), "a b.txt");
	ck_assert_int_eq(api_int("size_bytes"), 5);
	ck_assert_str_eq(api_text("mime_type"), "text/plain");
	ck_assert_str_eq(api_text("sha256"), HELLO_SHA);
	double made = json_object_get_double(api_at("upload_time"));
	double ends = json_object_get_double(api_at("expires_at"));
	ck_assert_double_eq_tol(ends - made, (double)conf->file_ttl_s, 0.01);
	ck_assert(!json_object_object_get_ex(api_fixture.body, "ignored", NULL));
	ck_assert_str_eq(api_header("Location") + strlen("/v1/files/"), api_text("file_id"));
	ck_assert_str_eq(api_header("Vary"), "Accept");
}
END_TEST

START_TEST(uploads_several_and_names_what_it_dropped)
{
	add_file("one", "1");
	form_field(&body, "purpose", "assistants");
	add_file("two", "");
	form_field(&body, "a/\"b", "x");
	ck_assert_int_eq(send(NULL), 201);
	ck_assert_uint_eq(json_object_array_length(api_at("files")), 2);
	ck_assert_str_eq(api_text("files.0.filename"), "one");
	ck_assert_str_eq(api_text("files.1.filename"), "two");
	ck_assert_int_eq(api_int("files.1.size_bytes"), 0);
	ck_assert_str_ne(api_text("files.0.file_id"), api_text("files.1.file_id"));
	ck_assert_uint_eq(json_object_array_length(api_at("ignored")), 2);
	ck_assert_str_eq(api_text("ignored.0"), "purpose");
	ck_assert_str_eq(api_text("ignored.1"), "a/\"b");
	ck_assert_ptr_null(api_header("Location"));
}
END_TEST

START_TEST(names_a_bounded_number_of_dropped_fields)
{
	char longest[LIMIT_FIELD_NAME_BYTES + 1];

	memset(longest, '\\', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	add_file("one", "1");
	for (int i = 0; i < LIMIT_PROBLEMS + 5; i++)
		form_field(&body, longest, "");
	ck_assert_int_eq(send(NULL), 201);
	ck_assert_uint_eq(json_object_array_length(api_at("ignored")), LIMIT_PROBLEMS);
}
END_TEST

START_TEST(sends_browsers_on)
{
	add_file("one", "1");
	ck_assert_int_eq(send("text/html,application/xhtml+xml,*/*;q=0.8"), 303);
	ck_assert_str_eq(api_header("Location"), "/v1/files");
	ck_assert_uint_eq(api_fixture.res.body.len, 0);
	ck_assert_int_eq(api_call("/v1/files", NULL, 0), 200);
	ck_assert_uint_eq(json_object_array_length(api_at("files")), 1);
}
END_TEST

/* A bad part behind a good file: the good one goes too. */
static const struct {
	int status;
	const char *code, *names, *params, *data;
} bad_parts[] = {
	{ 400, "bad_file_name", "without '/'", "; name=\"file\"; filename=\"../../tmp/x\"", "" },
	{ 400, "bad_file_name", "without '/'", "; name=\"file\"; filename=\"/tmp/x\"", "" },
	{ 400, "bad_file_name", "without '/'", "; name=\"file\"; filename=\"a/../../x\"", "" },
	{ 400, "bad_file_name", "'..'", "; name=\"file\"; filename=\"..\"", "" },
	{ 400, "bad_file_name", "empty", "; name=\"file\"; filename=\"\"", "" },
	{ 400, "bad_file_name", "NUL", "; name=\"file\"; filename*=UTF-8''a%00b", "" },
	{ 400, "bad_file_name", "without '/'", "; name=\"file\"; filename*=UTF-8''..%2Fx", "" },
	{ 400, "bad_multipart", "", "; filename=\"x\"", "" },
	{ 422, "invalid_field", "/file", "; name=\"file\"", "text" },
	{ 422, "invalid_field", "/data", "; name=\"data\"; filename=\"x\"", "" },
	{ 422, "invalid_field", "/a~1~0b", "; name=\"a/~b\"; filename=\"x\"", "" },
	{ 415, "unsupported_media_type", "UPLOAD_DENY",
	  "; name=\"file\"; filename=\"x\"\r\nContent-Type: text/plain",
	  "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\76\0\1\0\0\0" },
};
/* The bytes of an ELF header have NULs. */
#define ELF_BYTES 24

START_TEST(a_bad_part_leaves_nothing)
{
	bool elf = bad_parts[_i].data[0] == '\177';

	add_file("good", "good");
	form_part(&body, bad_parts[_i].params, bad_parts[_i].data,
		  elf ? ELF_BYTES : strlen(bad_parts[_i].data));
	ck_assert_int_eq(send(NULL), bad_parts[_i].status);
	ck_assert_str_eq(api_text("error.code"), bad_parts[_i].code);
	ck_assert_msg(strstr(api_text("error.message"), bad_parts[_i].names), "%s",
		      api_text("error.message"));
	if (bad_parts[_i].status == 422)
		ck_assert_str_eq(api_text("detail.0.loc.0"), "body");
	want_nothing_left();
}
END_TEST

START_TEST(wants_a_file)
{
	form_field(&body, "x", "y");
	ck_assert_int_eq(send(NULL), 422);
	ck_assert_str_eq(api_text("detail.0.type"), "missing");
	ck_assert_str_eq(api_text("detail.0.loc.1"), "file");
	ck_assert_int_eq(send(NULL), 422);
	want_nothing_left();
}
END_TEST

/* The caps of one file, of a dropped field, of the number of files, of the body. */
START_TEST(caps)
{
	AUTO(strbuf) big = STRBUF(2 << 20);

	for (int i = 0; i <= 1 << 20; i++)
		strbuf_addch(&big, 'x');
	add_file("good", "good");
	form_file(&body, "file", "big", "text/plain", big.buf, big.len);
	ck_assert_int_eq(send(NULL), 413);
	ck_assert_ptr_nonnull(strstr(api_text("detail"), "exceeds maximum"));
	ck_assert_ptr_nonnull(strstr(api_text("detail"), "MAX_FILE_SIZE_MB"));
	want_nothing_left();
	form_file(&body, "file", "as large as allowed", "text/plain", big.buf, big.len - 1);
	ck_assert_int_eq(send(NULL), 201);
	strbuf_cut(&big, LIMIT_SPARE_FIELD_BYTES + 1);
	form_field(&body, "note", big.buf);
	ck_assert_int_eq(send(NULL), 413);
	ck_assert_ptr_nonnull(strstr(api_text("detail"), "'note'"));
	for (int i = 0; i <= LIMIT_FILES; i++)
		add_file("small", "");
	ck_assert_int_eq(send(NULL), 413);
	ck_assert_ptr_nonnull(strstr(api_text("detail"), "256 files"));
	ck_assert_int_eq(api_call("/v1/files", NULL, 0), 200);
	ck_assert_uint_eq(json_object_array_length(api_at("files")), 1);
}
END_TEST

START_TEST(the_body_is_capped_before_it_is_read)
{
	const struct api_request r = {
		.path = "/v1/files", .type = FORM_TYPE, .body = "", .length = "4194305"
	};

	ck_assert_int_eq(api_send(&r), 413);
	ck_assert_ptr_nonnull(strstr(api_text("detail"), "MAX_UPLOAD_MB"));
}
END_TEST

static const struct {
	int status;
	const char *type, *text;
} bad_bodies[] = {
	{ 415, "application/json", "{}" },
	{ 415, "application/x-www-form-urlencoded", "a=b" },
	{ 415, "", "--b--" },
	{ 400, "multipart/form-data", "--b--" },
	{ 400, FORM_TYPE, "" },
	{ 400, FORM_TYPE, "--" FORM_BOUNDARY "\r\n" },
	{ 400, FORM_TYPE,
	  "--" FORM_BOUNDARY
	  "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n"
	  "cut in the middle" },
};

START_TEST(bad_bodies_leave_nothing)
{
	const struct api_request r = { .path = "/v1/files",
				       .type = bad_bodies[_i].type,
				       .body = bad_bodies[_i].text,
				       .len = strlen(bad_bodies[_i].text) };

	ck_assert_int_eq(api_send(&r), bad_bodies[_i].status);
	want_nothing_left();
}
END_TEST

START_TEST(lists_page_by_page)
{
	char ids[5][37], path[200] = "/v1/files?limit=2&colour=blue", next[100];
	size_t seen = 0;

	for (int i = 0; i < 5; i++)
		put("f", "some text", ids[i]);
	for (int pages = 0; pages < 3; pages++) {
		ck_assert_int_eq(api_call(path, NULL, 0), 200);
		struct json_object *files = api_at("files");
		for (size_t i = 0; i < json_object_array_length(files); i++) {
			struct json_object *id;
			json_object_object_get_ex(json_object_array_get_idx(files, i), "file_id",
						  &id);
			for (int k = 0; k < 5; k++)
				seen += strcmp(json_object_get_string(id), ids[k]) == 0;
		}
		if (pages == 2)
			break;
		snprintf(next, sizeof(next), "%s", api_text("next"));
		snprintf(path, sizeof(path), "/v1/files?limit=2&after=%s", next);
	}
	ck_assert(api_is_null("next"));
	ck_assert_uint_eq(seen, 5);
	ck_assert_int_eq(api_call("/v1/files", NULL, 0), 200);
	ck_assert_int_eq(api_int("files.0.size_bytes"), 9);
	ck_assert_str_eq(api_text("files.0.mime_type"), "text/plain");
	ck_assert_int_eq(strlen(api_text("files.0.sha256")), 64);
	ck_assert_str_eq(api_header("Vary"), "Accept");
}
END_TEST

static const char *const bad_queries[][2] = {
	{ "limit=0", "limit" },	    { "limit=1001", "limit" }, { "limit=x", "limit" },
	{ "limit=1.0", "limit" },   { "after=x", "after" },    { "after=%2e%2e%2f", "after" },
	{ "after=0-0-0", "after" },
};

START_TEST(refuses_bad_parameters)
{
	char path[100];

	snprintf(path, sizeof(path), "/v1/files?%s", bad_queries[_i][0]);
	ck_assert_int_eq(api_call(path, NULL, 0), 422);
	ck_assert_str_eq(api_text("detail.0.loc.0"), "query");
	ck_assert_str_eq(api_text("detail.0.loc.1"), bad_queries[_i][1]);
}
END_TEST

static const char *const types[][3] = {
	{ "{\"a\": [1, 2]}", "application/json", "application/json" },
	{ "hello", "text/plain", "text/plain" },
	{ "<!DOCTYPE html><html><script>alert(1)</script></html>", "text/html",
	  "application/octet-stream" },
	{ "<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"><script/></svg>",
	  "image/svg+xml", "application/octet-stream" },
};

START_TEST(downloads_by_the_web_server)
{
	char id[37], path[64], want[128];

	put("Relev\u00e9 \"x\".html", types[_i][0], id);
	ck_assert_str_eq(api_text("mime_type"), types[_i][1]);
	snprintf(path, sizeof(path), "/v1/files/%s", id);
	ck_assert_int_eq(api_call(path, NULL, 0), 200);
	ck_assert_uint_eq(api_fixture.res.body.len, 0);
	snprintf(want, sizeof(want), "/.belljar/files/local/%.2s/%s/content", id, id);
	ck_assert_str_eq(api_header("X-Accel-Redirect"), want);
	ck_assert_str_eq(api_header("Content-Type"), types[_i][2]);
	ck_assert_str_eq(api_header("Content-Disposition"),
			 "attachment; filename=\"Relev_ _x_.html\"; "
			 "filename*=UTF-8''Relev%C3%A9%20%22x%22.html");
	ck_assert_str_eq(api_header("Cache-Control"), "private, no-cache");
}
END_TEST

START_TEST(deletes_once)
{
	char id[37], path[64];
	const struct api_request r = { .method = "DELETE", .path = path };

	put("x", "x", id);
	snprintf(path, sizeof(path), "/v1/files/%s", id);
	ck_assert_int_eq(api_send(&r), 204);
	want_nothing_left();
	ck_assert_int_eq(api_send(&r), 404);
	ck_assert_ptr_nonnull(strstr(api_text("detail"), "not found"));
	ck_assert_int_eq(api_call(path, NULL, 0), 404);
	ck_assert_ptr_nonnull(strstr(api_text("detail"), "not found"));
}
END_TEST

static const char *const bad_ids[] = { "x",
				       "0E3B6F3C-6A3E-4B57-9C39-0C6D7F1A2B3C",
				       "0e3b6f3c-6a3e-1b57-9c39-0c6d7f1a2b3c",
				       "%7b0e3b6f3c-6a3e-4b57-9c39-0c6d7f1a2b3c%7d",
				       "0e3b6f3c6a3e4b579c390c6d7f1a2b3c",
				       "..%5c" };

START_TEST(ids_have_one_form)
{
	static const char *const methods[] = { "GET", "HEAD", "DELETE" };
	char path[100];

	snprintf(path, sizeof(path), "/v1/files/%s", bad_ids[_i]);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		ck_assert_int_eq(
			api_send(&(struct api_request){ .method = methods[i], .path = path }), 400);
		ck_assert_str_eq(api_text("error.code"), "bad_id");
	}
}
END_TEST

Suite *suite_api_files(void)
{
	Suite *s = suite_create("api/files");
	TCase *t = tcase_create("files");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, uploads_one);
	tcase_add_test(t, uploads_several_and_names_what_it_dropped);
	tcase_add_test(t, names_a_bounded_number_of_dropped_fields);
	tcase_add_test(t, sends_browsers_on);
	tcase_add_loop_test(t, a_bad_part_leaves_nothing, 0, ARRAY_SIZE(bad_parts));
	tcase_add_test(t, wants_a_file);
	tcase_add_test(t, caps);
	tcase_add_test(t, the_body_is_capped_before_it_is_read);
	tcase_add_loop_test(t, bad_bodies_leave_nothing, 0, ARRAY_SIZE(bad_bodies));
	tcase_add_test(t, lists_page_by_page);
	tcase_add_loop_test(t, refuses_bad_parameters, 0, ARRAY_SIZE(bad_queries));
	tcase_add_loop_test(t, downloads_by_the_web_server, 0, ARRAY_SIZE(types));
	tcase_add_test(t, deletes_once);
	tcase_add_loop_test(t, ids_have_one_form, 0, ARRAY_SIZE(bad_ids));
	suite_add_tcase(s, t);
	return s;
}
