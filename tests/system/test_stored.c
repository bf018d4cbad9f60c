/*
 * Stored files as inputs of jobs: as often as wanted, each by its own id, and what an id may look
 * like.
 */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "suites.h"
#include "support/answer.h"
#include "support/service.h"

#include <check.h>
#include <string.h>

static struct service svc;

static void setup(void)
{
	service_up(&svc, NULL);
}

static void teardown(void)
{
	service_clear(&svc);
}

/* The id of a file that a job has made, the caller's. */
static char *make_stored(const char *code)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, code, "\"last_line_interactive\":false", &a);
	return xstrdup(answer_str(&a, "files.0.file_id"));
}

START_TEST(a_stored_file_goes_in_as_often_as_wanted)
{
	AUTO_FREE char *id = make_stored("open('made', 'w').write('A')");
	AUTO_FREE char *more = xasprintf(
		"\"files\":[{\"path\":\"d/e/in\",\"file_id\":\"%s\"},"
		"{\"path\":\"kept\",\"file_id\":\"%s\"},{\"path\":\"x\",\"content\":\"1\"},"
		"{\"path\":\"x\",\"file_id\":\"%s\"}],\"last_line_interactive\":false",
		id, id, id);
	for (int i = 0; i < 2; i++) {
		AUTO(answer) a = ANSWER_INIT;
		AUTO(strbuf) text = STRBUF(100);
		service_execute(&svc,
				"print(open('d/e/in').read(), open('x').read())\n"
				"open('d/e/in', 'w').write('B')",
				more, &a);
		WANT_STR(&a, "stdout", "A A\n");
		/* the unchanged ones don't come back */
		WANT(&a, json_object_array_length(answer_get(&a, "files")) == 1);
		WANT_STR(&a, "files.0.path", "d/e/in");
		WANT(&a, service_stored(&svc, answer_str(&a, "files.0.file_id"), &text) &&
				 strcmp(text.buf, "B") == 0);
		WANT(&a, strcmp(answer_str(&a, "files.0.file_id"), id) != 0);
	}
}
END_TEST

/* C17, with the results of two jobs as the two uploads. */
START_TEST(two_files_of_one_name_stay_two)
{
	AUTO_FREE char *one = make_stored("open('image.png', 'w').write('A')");
	AUTO_FREE char *two = make_stored("open('image.png', 'w').write('B')");
	const char *const ids[] = { one, two }, *const want[] = { "A\n", "B\n" };
	for (size_t i = 0; i < 2; i++) {
		AUTO(answer) a = ANSWER_INIT;
		AUTO_FREE char *more = xasprintf(
			"\"files\":[{\"path\":\"image.png\",\"file_id\":\"%s\"}]", ids[i]);
		service_execute(&svc, "print(open('image.png').read())", more, &a);
		WANT_STR(&a, "stdout", want[i]);
	}
}
END_TEST

/* By FastCGI or CGI without a web server that sends files itself. */
START_TEST(a_download_without_the_web_servers_help)
{
	AUTO_FREE char *id = make_stored("open('made.txt', 'w').write('A' * 600000)");
	AUTO_FREE char *uri = xasprintf("/v1/files/%s", id);
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) head = ANSWER_INIT;
	service_call(&svc, "GET", uri, NULL, &a);
	ck_assert_int_eq(a.status, 200);
	ck_assert_uint_eq(a.body.len, 600000);
	ck_assert(strspn(a.body.buf, "A") == 600000);
	ck_assert_str_eq(answer_header(&a, "Content-Length"), "600000");
	ck_assert_str_eq(answer_header(&a, "Content-Type"), "text/plain");
	ck_assert_ptr_nonnull(strstr(answer_header(&a, "Content-Disposition"), "made.txt"));
	ck_assert_ptr_nonnull(strstr(answer_header(&a, "Content-Security-Policy"), "sandbox"));
	ck_assert_ptr_null(answer_header(&a, "X-Accel-Redirect"));
	service_call(&svc, "HEAD", uri, NULL, &head);
	ck_assert_int_eq(head.status, 200);
	ck_assert_uint_eq(head.body.len, 0);
	ck_assert_str_eq(answer_header(&head, "Content-Length"), "600000");
}
END_TEST

static const struct {
	const char *id;
	int status;
	const char *code;
} bad_ids[] = {
	{ "0e3b6f3c-6a3e-4b57-9c39-0c6d7f1a2b3c", 404, "not_found" },
	{ "0E3B6F3C-6A3E-4B57-9C39-0C6D7F1A2B3C", 400, "bad_id" },
	{ "0e3b6f3c-6a3e-1b57-9c39-0c6d7f1a2b3c", 400, "bad_id" },
	{ "", 400, "bad_id" },
	{ "../../../etc/passwd", 400, "bad_id" },
	{ "nonexistent", 400, "bad_id" },
};

/* Told before a bad path is: clients rely on the order. */
START_TEST(unknown_and_ill_formed_ids)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *more = xasprintf("\"files\":[{\"path\":\"../x\",\"content\":\"\"},"
					 "{\"path\":\"a\",\"file_id\":\"%s\"}]",
					 bad_ids[_i].id);
	service_try(&svc, "print(1)", more, &a);
	WANT_STATUS(&a, bad_ids[_i].status);
	WANT_STR(&a, "error.code", bad_ids[_i].code);
	WANT(&a,
	     strcasestr(answer_str(&a, "detail"), bad_ids[_i].status == 404 ? "not found" : "id"));
}
END_TEST

Suite *suite_stored(void)
{
	Suite *s = suite_create("stored");
	TCase *tc = tcase_create("stored");
	tcase_set_timeout(tc, 120);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_stored_file_goes_in_as_often_as_wanted);
	tcase_add_test(tc, two_files_of_one_name_stay_two);
	tcase_add_test(tc, a_download_without_the_web_servers_help);
	tcase_add_loop_test(tc, unknown_and_ill_formed_ids, 0, (int)ARRAY_SIZE(bad_ids));
	suite_add_tcase(s, tc);
	return s;
}
