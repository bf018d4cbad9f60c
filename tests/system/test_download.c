/*
 * Stored files as nginx sends them: ranges, conditions and headers, what happens when a file is
 * missing, unreadable or a link, and that nobody gets at the store without the service. The
 * service's own half (names, types, ids) is tested elsewhere.
 */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "suites.h"
#include "support/answer.h"
#include "support/form.h"
#include "support/front.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTENT "0123456789abcdefghij"
#define SECRET "root's own words"

static struct service svc;
static struct front web;
static char stored[64]; /* the id of a file with CONTENT */

static void upload(char *out_id)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) body = STRBUF(1 << 16);
	form_file(&body, "file", "a b.txt", "text/html", CONTENT, strlen(CONTENT));
	form_end(&body);
	front_call(&web, "POST", "/v1/files", body.buf,
		   (const char *const[]){ "Content-Type: " FORM_TYPE, NULL }, &a);
	WANT_STATUS(&a, 201);
	snprintf(out_id, sizeof(stored), "%s", answer_str(&a, "file_id"));
}

static void setup(void)
{
	service_up(&svc, NULL);
	front_start(&web, &svc, NULL);
	upload(stored);
}

static void teardown(void)
{
	front_stop(&web);
	service_clear(&svc);
}

/* header: one line or NULL. */
static void get(struct front *f, const char *method, const char *header, struct answer *out)
{
	AUTO_FREE char *path = xasprintf("/v1/files/%s", stored);
	front_call(f, method, path, NULL, (const char *const[]){ header, NULL }, out);
}

static void want_header(const struct answer *a, const char *name, const char *want)
{
	const char *value = answer_header(a, name);
	if (!value || strcmp(value, want) != 0)
		answer_fail(a, __FILE__, __LINE__, "%s is \"%s\"", name, value ? value : "missing");
}

static int header_count(const struct answer *a, const char *name)
{
	AUTO_FREE char *mark = xasprintf("\n%s: ", name);
	int n = 0;
	for (const char *s = a->head.buf; (s = strstr(s, mark)) != NULL; s++)
		n++;
	return n;
}

/* What every answer about a file's bytes has, once. */
static void want_file_headers(const struct answer *a)
{
	static const char *const rows[][2] = {
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Content-Security-Policy", "sandbox; default-src 'none'" },
		{ "Cache-Control", "private, no-cache" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		want_header(a, rows[i][0], rows[i][1]);
		ck_assert_int_eq(header_count(a, rows[i][0]), 1);
	}
	ck_assert_int_eq(header_count(a, "X-Request-Id"), 1);
	WANT(a, strncmp(answer_header(a, "Content-Disposition"), "attachment", 10) == 0);
	WANT(a, answer_header(a, "ETag"));
	WANT(a, !answer_header(a, "X-Accel-Redirect"));
}

static void want_json_error(const struct answer *a, int status, const char *code)
{
	WANT_STATUS(a, status);
	WANT_STR(a, "error.code", code);
	WANT(a,
	     strlen(answer_str(a, "error.message")) > 0 && strlen(answer_str(a, "error.hint")) > 0);
	WANT(a, strncmp(answer_header(a, "Content-Type"), "application/json", 16) == 0);
}

START_TEST(whole_file)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) b = ANSWER_INIT;
	get(&web, "GET", NULL, &a);
	WANT(&a, a.status == 200);
	WANT(&a, strcmp(a.body.buf, CONTENT) == 0);
	want_header(&a, "Content-Type", "text/plain");
	want_header(&a, "Accept-Ranges", "bytes");
	want_file_headers(&a);
	get(&web, "HEAD", NULL, &b);
	WANT(&b, b.status == 200 && b.body.len == 0);
	want_header(&b, "Content-Length", "20");
	want_header(&b, "Content-Type", "text/plain");
	want_file_headers(&b);
}
END_TEST

START_TEST(ranges)
{
	static const struct {
		const char *header, *range, *body;
	} rows[] = {
		{ "Range: bytes=2-5", "bytes 2-5/20", "2345" },
		{ "Range: bytes=-3", "bytes 17-19/20", "hij" },
		{ "Range: bytes=18-", "bytes 18-19/20", "ij" },
		{ "Range: bytes=18-90", "bytes 18-19/20", "ij" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(answer) a = ANSWER_INIT;
		get(&web, "GET", rows[i].header, &a);
		WANT(&a, a.status == 206);
		want_header(&a, "Content-Range", rows[i].range);
		WANT(&a, strcmp(a.body.buf, rows[i].body) == 0);
		want_file_headers(&a);
	}
	AUTO(answer) b = ANSWER_INIT;
	get(&web, "GET", "Range: bytes=0-1,4-5", &b);
	WANT(&b, b.status == 206);
	WANT(&b, strstr(b.body.buf, "bytes 0-1/20\r\n\r\n01\r\n") &&
			 strstr(b.body.buf, "bytes 4-5/20\r\n\r\n45\r\n"));
	want_file_headers(&b);
}
END_TEST

/* Each part has headers of its own, so a short question could have a very long answer. */
START_TEST(many_ranges)
{
	static const struct {
		int count, status;
	} rows[] = { { 16, 206 }, { 17, 200 } };
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(answer) a = ANSWER_INIT;
		AUTO(strbuf) header = STRBUF(1 << 10);
		strbuf_addstr(&header, "Range: bytes=0-0");
		for (int n = 1; n < rows[i].count; n++)
			strbuf_addf(&header, ",%d-%d", n, n);
		get(&web, "GET", header.buf, &a);
		WANT(&a, a.status == rows[i].status);
		want_file_headers(&a);
		if (a.status == 200)
			WANT(&a, strcmp(a.body.buf, CONTENT) == 0);
	}
}
END_TEST

START_TEST(range_outside_of_the_file)
{
	AUTO(answer) a = ANSWER_INIT;
	get(&web, "GET", "Range: bytes=20-", &a);
	want_json_error(&a, 416, "bad_range");
	want_header(&a, "Content-Range", "bytes */20");
	want_file_headers(&a);
}
END_TEST

/* One request with "<name>: <the file's ETag>". */
static void get_if(const char *name, const char *more, struct answer *out)
{
	AUTO(answer) first = ANSWER_INIT;
	get(&web, "HEAD", NULL, &first);
	AUTO_FREE char *header = xasprintf("%s: %s", name, answer_header(&first, "ETag"));
	AUTO_FREE char *path = xasprintf("/v1/files/%s", stored);
	front_call(&web, "GET", path, NULL, (const char *const[]){ header, more, NULL }, out);
}

START_TEST(conditions)
{
	AUTO(answer) same = ANSWER_INIT;
	AUTO(answer) part = ANSWER_INIT;
	AUTO(answer) whole = ANSWER_INIT;
	AUTO(answer) failed = ANSWER_INIT;
	get_if("If-None-Match", NULL, &same);
	WANT(&same, same.status == 304 && same.body.len == 0);
	want_file_headers(&same);
	get_if("If-Range", "Range: bytes=0-1", &part);
	WANT(&part, part.status == 206 && strcmp(part.body.buf, "01") == 0);
	AUTO_FREE char *path = xasprintf("/v1/files/%s", stored);
	front_call(&web, "GET", path, NULL,
		   (const char *const[]){ "If-Range: \"x\"", "Range: bytes=0-1", NULL }, &whole);
	WANT(&whole, whole.status == 200 && strcmp(whole.body.buf, CONTENT) == 0);
	get(&web, "GET", "If-Match: \"x\"", &failed);
	want_json_error(&failed, 412, "precondition_failed");
}
END_TEST

/* The place of the stored file below a folder; the caller's. */
static char *place(const char *root, const char *last)
{
	return xasprintf("%s/local/%.2s/%s%s", root, stored, stored, last);
}

START_TEST(the_store_has_no_address)
{
	AUTO_FREE char *inner = place("/.belljar/files", "/content");
	AUTO_FREE char *escaped = place("/.belljar%2Ffiles", "/content");
	AUTO_FREE char *doubled = place("//.belljar//files/", "/content");
	AUTO_FREE char *dotted = place("/v1/../.belljar/files", "/content");
	const char *const paths[] = { inner,	      escaped, doubled, dotted, "/.belljar/files/",
				      "/.belljar/404" };
	AUTO_FREE char *file = xasprintf("%s/files", svc.dir);
	AUTO_FREE char *content = place(file, "/content");
	ck_assert_int_eq(access(content, R_OK), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		AUTO(answer) a = ANSWER_INIT;
		front_call(&web, "GET", paths[i], NULL, NULL, &a);
		want_json_error(&a, 404, "not_found");
		WANT(&a, !strstr(a.body.buf, CONTENT));
	}
}
END_TEST

/* Makes the folders of the stored file below root. */
static void make_place(const char *root)
{
	AUTO_FREE char *id = place(root, "");
	for (char *slash = id + strlen(root); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(id, 0755);
		*slash = '/';
	}
	(void)mkdir(id, 0755);
}

static void plant_nothing(const char *root, const char *outside)
{
	(void)root;
	(void)outside;
}

static void plant_file(const char *root, const char *outside)
{
	AUTO_FREE char *content = place(root, "/content");
	(void)outside;
	make_place(root);
	tool_write(content, CONTENT);
}

static void plant_closed(const char *root, const char *outside)
{
	AUTO_FREE char *content = place(root, "/content");
	plant_file(root, outside);
	ck_assert_int_eq(chmod(content, 0600), 0);
}

static void plant_link(const char *root, const char *outside)
{
	AUTO_FREE char *content = place(root, "/content");
	AUTO_FREE char *target = place(outside, "/content");
	make_place(root);
	ck_assert_int_eq(symlink(target, content), 0);
}

static void plant_folder(const char *root, const char *outside)
{
	AUTO_FREE char *content = place(root, "/content");
	(void)outside;
	make_place(root);
	ck_assert_int_eq(mkdir(content, 0755), 0);
}

static void plant_fifo(const char *root, const char *outside)
{
	AUTO_FREE char *content = place(root, "/content");
	(void)outside;
	make_place(root);
	ck_assert_int_eq(mkfifo(content, 0644), 0);
}

static void plant_linked_id(const char *root, const char *outside)
{
	AUTO_FREE char *id = place(root, "");
	AUTO_FREE char *target = place(outside, "");
	make_place(root);
	ck_assert_int_eq(rmdir(id), 0);
	ck_assert_int_eq(symlink(target, id), 0);
}

static void plant_linked_tenant(const char *root, const char *outside)
{
	AUTO_FREE char *tenant = xasprintf("%s/local", root);
	AUTO_FREE char *target = xasprintf("%s/local", outside);
	ck_assert_int_eq(symlink(target, tenant), 0);
}

static const struct plant {
	const char *name;
	void (*plant)(const char *root, const char *outside);
	int status;
	const char *code;
} plants[] = {
	{ "file", plant_file, 200, NULL }, /* the others fail for their own reason */
	{ "nothing", plant_nothing, 404, "not_found" },
	{ "closed", plant_closed, 500, "internal" },
	{ "link", plant_link, 500, "internal" },
	{ "folder", plant_folder, 500, "internal" },
	{ "fifo", plant_fifo, 404, "not_found" },
	{ "linked id", plant_linked_id, 404, "not_found" },
	{ "linked tenant", plant_linked_tenant, 404, "not_found" },
};

/*
 * A service that is in order, and an nginx that finds something else in the file's place, as after
 * a deletion in the meantime or when somebody with root's power has planted links. It has a store
 * of its own, because the service would see most of that first.
 */
START_TEST(what_else_is_in_a_files_place)
{
	const struct plant *p = &plants[_i];
	AUTO_FREE char *root = tool_new_dir("store");
	AUTO_FREE char *outside = tool_new_dir("outside");
	AUTO_FREE char *secret = place(outside, "/content");
	AUTO_FREE char *files = xasprintf("FILE_STORAGE_DIR=%s", root);
	AUTO_FREE char *dir = xasprintf("NGINX_DIR=%s/nginx-%d", svc.dir, _i);
	AUTO(answer) a = ANSWER_INIT;
	struct front other;
	make_place(outside);
	tool_write(secret, SECRET);
	p->plant(root, outside);
	front_start(&other, &svc, (const char *const[]){ files, dir, NULL });
	get(&other, "GET", NULL, &a);
	front_stop(&other);
	WANT(&a, !strstr(a.body.buf, SECRET));
	if (p->code)
		want_json_error(&a, p->status, p->code);
	else
		WANT(&a, a.status == p->status);
	if (p->status == 404)
		WANT_IN(&a, "detail", "not found");
}
END_TEST

/* The same in the service's own store: whoever sees it first, nothing from outside comes back. */
START_TEST(links_in_the_store)
{
	AUTO_FREE char *root = xasprintf("%s/files", svc.dir);
	AUTO_FREE char *content = place(root, "/content");
	AUTO_FREE char *kept = xasprintf("%s.kept", content);
	AUTO_FREE char *outside = xasprintf("%s/outside", svc.dir);
	AUTO(answer) a = ANSWER_INIT;
	tool_write(outside, CONTENT);
	ck_assert_int_eq(rename(content, kept), 0);
	ck_assert_int_eq(symlink(outside, content), 0);
	get(&web, "GET", NULL, &a);
	ck_assert_int_eq(unlink(content), 0);
	ck_assert_int_eq(rename(kept, content), 0);
	want_json_error(&a, 404, "not_found");
}
END_TEST

Suite *suite_download(void)
{
	Suite *s = suite_create("download");
	TCase *tc = tcase_create("download");
	tcase_set_timeout(tc, 120);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_test(tc, whole_file);
	tcase_add_test(tc, ranges);
	tcase_add_test(tc, many_ranges);
	tcase_add_test(tc, range_outside_of_the_file);
	tcase_add_test(tc, conditions);
	tcase_add_test(tc, the_store_has_no_address);
	tcase_add_loop_test(tc, what_else_is_in_a_files_place, 0, ARRAY_SIZE(plants));
	tcase_add_test(tc, links_in_the_store);
	suite_add_tcase(s, tc);
	return s;
}
