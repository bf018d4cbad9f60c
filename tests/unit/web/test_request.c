/* A request as a CGI server hands it over: path, headers, body within its cap. Each test has a
 * process of its own. */
#include "base/err.h"
#include "unit/suites.h"
#include "web/channel.h"
#include "web/request.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct request req;
static struct err err;
static struct channel *channel;

static void setup(void)
{
	channel = channel_new(-1, true);
}

static void teardown(void)
{
	channel_free(channel);
}

static int open_with(const char *name, const char *value)
{
	setenv("REQUEST_METHOD", "GET", 0);
	setenv("REQUEST_URI", "/x", 0);
	setenv(name, value, 1);
	err = (struct err)ERR_INIT;
	return request_open(&req, channel, &err);
}

static void path_is(const char *uri, const char *path)
{
	ck_assert_msg(open_with("REQUEST_URI", uri) == 0, "%s: %s", uri, err.text);
	ck_assert_str_eq(req.path, path);
}

START_TEST(decodes_paths_once)
{
	path_is("/v1/execute", "/v1/execute");
	path_is("/v1/execute?a=%zz", "/v1/execute");
	path_is("/a%20b%2Bc", "/a b+c");
	path_is("/%2541", "/%41");
	path_is("/r%C3%A9sum%c3%a9", "/r\303\251sum\303\251");
	path_is("/...", "/...");
}
END_TEST

START_TEST(refuses_paths)
{
	char huge[LIMIT_URI_BYTES + 10];
	const char *const bad[] = { "",	     "x",	   "*",		  "/%",	    "/%4",
				    "/%zz",  "/%00x",	   "/%0a",	  "/\x7f",  "/%ff",
				    "/a/..", "/../a",	   "/a/%2e%2e/b", "/./x",   "/%2E",
				    "?/x",   "http://h/x", "/%C3(",	  "/a%2Fb", "/a%2f" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_msg(open_with("REQUEST_URI", bad[i]) == -1, "%s", bad[i]);
		ck_assert_int_eq(err.code, ERR_BAD_REQUEST);
	}
	memset(huge, 'a', sizeof(huge));
	huge[0] = '/';
	huge[sizeof(huge) - 1] = '\0';
	ck_assert_int_eq(open_with("REQUEST_URI", huge), -1);
	ck_assert_int_eq(open_with("REQUEST_URI", "/x"), 0);
	ck_assert_int_eq(open_with("QUERY_STRING", huge), -1);
	ck_assert_int_eq(err.code, ERR_BAD_REQUEST);
}
END_TEST

START_TEST(prefers_path_info)
{
	setenv("REQUEST_URI", "/cgi-bin/belljar/v1/x", 1);
	ck_assert_int_eq(open_with("PATH_INFO", "/v1/%41"), 0);
	ck_assert_str_eq(req.path, "/v1/%41");
	ck_assert_int_eq(open_with("PATH_INFO", "/v1/../x"), -1);
}
END_TEST

START_TEST(takes_only_plain_ids)
{
	ck_assert_int_eq(open_with("REQUEST_ID", "0123abc_-Z"), 0);
	ck_assert_str_eq(req.id, "0123abc_-Z");
	ck_assert_int_eq(open_with("REQUEST_ID", "a b\n"), 0);
	ck_assert_uint_eq(strlen(req.id), 32);
	ck_assert_uint_eq(strspn(req.id, "0123456789abcdef"), 32);
}
END_TEST

START_TEST(checks_length)
{
	ck_assert_int_eq(open_with("CONTENT_LENGTH", ""), 0);
	ck_assert_int_eq(req.content_length, -1);
	ck_assert_int_eq(open_with("CONTENT_LENGTH", "17"), 0);
	ck_assert_int_eq(req.content_length, 17);
	ck_assert_int_eq(open_with("CONTENT_LENGTH", "-1"), -1);
	ck_assert_int_eq(open_with("CONTENT_LENGTH", "1e3"), -1);
	ck_assert_int_eq(err.code, ERR_BAD_REQUEST);
}
END_TEST

START_TEST(knows_methods)
{
	ck_assert_int_eq(open_with("REQUEST_METHOD", "DELETE"), 0);
	ck_assert_int_eq(req.method, METHOD_DELETE);
	ck_assert_int_eq(open_with("REQUEST_METHOD", "get"), 0);
	ck_assert_int_eq(req.method, METHOD_OTHER);
	ck_assert_int_eq(open_with("REQUEST_METHOD", "PROPFINDANDMORETHANFITS"), 0);
	ck_assert_int_eq(req.method, METHOD_OTHER);
	ck_assert_str_eq(req.method_name, "PROPFINDANDMORE");
}
END_TEST

/* Standard input holds len bytes; the header says `said`. */
static int read_body(struct strbuf *body, const char *said, size_t len, int64_t max)
{
	char bytes[2000];
	int fds[2];

	memset(bytes, 'b', sizeof(bytes));
	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(write(fds[1], bytes, len), (long)len);
	close(fds[1]);
	dup2(fds[0], 0);
	close(fds[0]);
	channel_free(channel);
	channel = channel_new(-1, true);
	ck_assert_int_eq(open_with("CONTENT_LENGTH", said), 0);
	return request_body(&req, body, max, "THE_CAP", &err);
}

START_TEST(reads_bodies_within_cap)
{
	AUTO(strbuf) body = STRBUF(5000);

	ck_assert_int_eq(read_body(&body, "1000", 1000, 1000), 0);
	ck_assert_uint_eq(body.len, 1000);
	ck_assert_int_eq(req.body_read, 1000);
	strbuf_reset(&body);
	/* A CGI server may leave its end open: the length ends the body. */
	ck_assert_int_eq(read_body(&body, "7", 9, 1000), 0);
	ck_assert_str_eq(body.buf, "bbbbbbb");
	strbuf_reset(&body);
	ck_assert_int_eq(read_body(&body, "", 7, 1000), 0);
	ck_assert_uint_eq(body.len, 0);
	strbuf_reset(&body);
	ck_assert_int_eq(read_body(&body, "", 0, 1000), 0);
	ck_assert_uint_eq(body.len, 0);
}
END_TEST

START_TEST(refuses_bodies)
{
	AUTO(strbuf) body = STRBUF(5000);

	ck_assert_int_eq(read_body(&body, "1001", 0, 1000), -1);
	ck_assert_int_eq(err.code, ERR_TOO_LARGE);
	ck_assert_ptr_nonnull(strstr(err.text, "1000"));
	ck_assert_ptr_nonnull(strstr(err.text, "THE_CAP"));
	ck_assert_int_eq(read_body(&body, "900", 899, 1000), -1);
	ck_assert_int_eq(err.code, ERR_BAD_REQUEST);
}
END_TEST

static bool html(const char *accept)
{
	ck_assert_int_eq(open_with("HTTP_ACCEPT", accept), 0);
	return request_wants_html(&req);
}

START_TEST(weighs_accept)
{
	ck_assert(html("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
	ck_assert(html("text/html"));
	ck_assert(html("TEXT/HTML; level=1"));
	ck_assert(html("text/*, application/json;q=0.5"));
	ck_assert(html("application/json ; q=0.9 , text/html"));
	ck_assert(!html(""));
	ck_assert(!html("*/*"));
	ck_assert(!html("application/json"));
	ck_assert(!html("text/html;q=0, */*"));
	ck_assert(!html("text/html;q=0.2, application/json;q=0.3"));
	ck_assert(!html("text/htmlx, ;;;,,q=1"));
}
END_TEST

Suite *suite_web_request(void)
{
	Suite *s = suite_create("web/request");
	TCase *t = tcase_create("request");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, decodes_paths_once);
	tcase_add_test(t, refuses_paths);
	tcase_add_test(t, prefers_path_info);
	tcase_add_test(t, takes_only_plain_ids);
	tcase_add_test(t, checks_length);
	tcase_add_test(t, knows_methods);
	tcase_add_test(t, reads_bodies_within_cap);
	tcase_add_test(t, refuses_bodies);
	tcase_add_test(t, weighs_accept);
	suite_add_tcase(s, t);
	return s;
}
