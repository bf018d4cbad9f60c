/* The route table's search: methods, patterns, types, Allow, and the redirect of a trailing slash.
 */
#include "base/err.h"
#include "unit/suites.h"
#include "web/response.h"
#include "web/route.h"

#include <check.h>
#include <string.h>

static int handle(struct request *req, struct response *res, struct route_times *times,
		  struct err *err)
{
	(void)req, (void)res, (void)times, (void)err;
	return 0;
}

static const char *const types[] = { "application/json", "application/*+json", NULL };
static const struct route table[] = {
	{ METHOD_POST, "/v1/files", types, handle },
	{ METHOD_GET, "/v1/files", NULL, handle },
	{ METHOD_GET, "/v1/files/{id}", NULL, handle },
	{ METHOD_DELETE, "/v1/files/{id}", NULL, handle },
	{ METHOD_PUT, "/v1/sessions/{id}/files/{path}", NULL, handle },
};

static struct request req;
static struct err err;
static char allow[64];

static const struct route *find(enum request_method method, const char *path)
{
	memset(&req, 0, sizeof(req));
	err = (struct err)ERR_INIT;
	req.method = method;
	snprintf(req.method_name, sizeof(req.method_name), "X");
	snprintf(req.path, sizeof(req.path), "%s", path);
	return route_find(table, ARRAY_SIZE(table), &req, allow, &err);
}

START_TEST(finds_rows)
{
	ck_assert_ptr_eq(find(METHOD_POST, "/v1/files"), &table[0]);
	ck_assert_ptr_eq(find(METHOD_GET, "/v1/files"), &table[1]);
	ck_assert_ptr_eq(find(METHOD_HEAD, "/v1/files"), &table[1]);
	ck_assert_ptr_eq(find(METHOD_DELETE, "/v1/files/a b"), &table[3]);
	ck_assert_str_eq(req.route_args[0], "a b");
	ck_assert_ptr_eq(find(METHOD_PUT, "/v1/sessions/s1/files/f.txt"), &table[4]);
	ck_assert_str_eq(req.route_args[0], "s1");
	ck_assert_str_eq(req.route_args[1], "f.txt");
}
END_TEST

START_TEST(refuses_other_paths)
{
	char longest[200] = "/v1/files/";
	const char *const paths[] = { "/",	     "",	   "/v1/file", "/v1/filesx",
				      "/v1/files//", "/v1//files", "v1/files", "/v1/files/a/b",
				      "//v1/files/" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		ck_assert_msg(!find(METHOD_GET, paths[i]), "%s", paths[i]);
		ck_assert_int_eq(err.code, ERR_NOT_FOUND);
		ck_assert_str_eq(allow, "");
	}
	/* Too long for any id: its handler says so. */
	memset(longest + 10, 'a', 180);
	ck_assert_ptr_eq(find(METHOD_GET, longest), &table[2]);
	ck_assert_uint_eq(strlen(req.route_args[0]), 127);
}
END_TEST

START_TEST(names_allowed_methods)
{
	ck_assert_ptr_null(find(METHOD_PUT, "/v1/files"));
	ck_assert_int_eq(err.code, ERR_METHOD);
	ck_assert_str_eq(allow, "POST, GET, HEAD, OPTIONS");
	ck_assert_ptr_null(find(METHOD_OPTIONS, "/v1/files/x"));
	ck_assert_int_eq(err.code, ERR_METHOD);
	ck_assert_str_eq(allow, "GET, HEAD, DELETE, OPTIONS");
	ck_assert_ptr_null(find(METHOD_OTHER, "/v1/sessions/a/files/b"));
	ck_assert_str_eq(allow, "PUT, OPTIONS");
}
END_TEST

static const struct route *find_typed(const char *type)
{
	find(METHOD_POST, "/v1/files");
	err = (struct err)ERR_INIT;
	snprintf(req.content_type, sizeof(req.content_type), "%s", type);
	return route_find(table, ARRAY_SIZE(table), &req, allow, &err);
}

START_TEST(checks_content_type)
{
	const char *const good[] = { "", "application/json", "Application/JSON ; charset=utf-8",
				     "application/problem+json" };
	const char *const bad[] = { "text/plain",
				    "application/jsonx",
				    "application/json2; x",
				    "application/+json",
				    "multipart/form-data; boundary=x",
				    ";" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(find_typed(good[i]) == &table[0], "%s", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_msg(!find_typed(bad[i]), "%s", bad[i]);
		ck_assert_int_eq(err.code, ERR_MEDIA_TYPE);
	}
}
END_TEST

static void redirects(const char *path, const char *query, const char *location)
{
	struct route_times times = { 0 };
	AUTO(response) res;
	const struct route *row = find(METHOD_POST, path);

	response_init(&res, 1000);
	ck_assert_ptr_nonnull(row);
	snprintf(req.query, sizeof(req.query), "%s", query);
	ck_assert_int_eq(row->handle(&req, &res, &times, &err), 0);
	ck_assert_int_eq(res.status, 307);
	ck_assert_uint_eq(res.headers_count, 1);
	ck_assert_str_eq(res.headers[0].name, "Location");
	ck_assert_str_eq(res.headers[0].value, location);
}

START_TEST(redirects_trailing_slash)
{
	redirects("/v1/files/", "", "/v1/files");
	redirects("/v1/files/", "a=b&c", "/v1/files?a=b&c");
	redirects("/v1/files/r\303\251 ?#%/", "", "/v1/files/r%C3%A9%20%3F%23%25");
}
END_TEST

Suite *suite_web_route(void)
{
	Suite *s = suite_create("web/route");
	TCase *t = tcase_create("route");

	tcase_add_test(t, finds_rows);
	tcase_add_test(t, refuses_other_paths);
	tcase_add_test(t, names_allowed_methods);
	tcase_add_test(t, checks_content_type);
	tcase_add_test(t, redirects_trailing_slash);
	suite_add_tcase(s, t);
	return s;
}
