/*
 * The service's log: one line a request with its id, outcome, stages and sizes, as JSON or plain
 * text, and never anything of what the client sent or the program wrote.
 */
#include "base/alloc.h"
#include "suites.h"
#include "support/answer.h"
#include "support/fcgi.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct service svc;

static void teardown(void)
{
	service_clear(&svc);
}

/* The line of the service's log that has the request id, parsed; NULL: none. */
static struct json_object *log_line(const char *id)
{
	AUTO(strbuf) all = STRBUF(TOOL_FILE_MAX);
	(void)tool_read(svc.log, &all);
	char *save = NULL;
	for (char *line = strtok_r(all.buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strstr(line, id) && strstr(line, "\"total_ms\""))
			return json_tokener_parse(line);
	return NULL;
}

START_TEST(one_log_line_with_stages_and_no_secrets)
{
	AUTO(answer) a = ANSWER_INIT;
	service_up(&svc, NULL);
	AUTO_FREE char *body =
		service_body("print('S' + 'ECRETOUT')  # SECRETCODE",
			     "\"env\":{\"K\":\"SECRETENV\"},\"stdin\":\"SECRETIN\","
			     "\"files\":[{\"path\":\"SECRETNAME\",\"content\":\"SECRETFILE\"}]");
	struct fcgi_request r = { .uri = "/v1/execute?q=SECRETQUERY",
				  .body = body,
				  .len = strlen(body),
				  .params = (const char *const[]){ "REQUEST_ID", "abcdef0123456789",
								   NULL } };
	fcgi_call(svc.fcgi, &r, &a, 120000);
	WANT_STATUS(&a, 200);
	WANT_STR(&a, "stdout", "SECRETOUT\n");
	ck_assert(service_wait_log(&svc, "abcdef0123456789"));
	struct answer line = ANSWER_INIT;
	line.json = log_line("abcdef0123456789");
	WANT(&line, line.json != NULL);
	WANT_STR(&line, "request_id", "abcdef0123456789");
	WANT_STR(&line, "outcome", "ok");
	WANT_INT(&line, "status", 200);
	static const char *const stages[] = { "queue_ms", "start_ms", "run_ms", "collect_ms",
					      "total_ms" };
	for (size_t i = 0; i < ARRAY_SIZE(stages); i++)
		WANT_RANGE(&line, stages[i], 0, 120000);
	WANT_INT(&line, "bytes_in", (int64_t)strlen(body));
	WANT_RANGE(&line, "bytes_out", 100, 100000);
	ck_assert_int_eq(tool_count(svc.log, "SECRET"), 0);
	answer_clear(&line);
}
END_TEST

START_TEST(plain_lines)
{
	AUTO(answer) a = ANSWER_INIT;
	service_up(&svc, (const char *const[]){ "LOG_FORMAT=plain", NULL });
	fcgi_call(svc.fcgi,
		  &(struct fcgi_request){
			  .uri = "/v1/x%0a%1b%22y",
			  .params = (const char *const[]){ "REQUEST_ID", "plain1", NULL } },
		  &a, 60000);
	WANT(&a, a.status == 400 || a.status == 404);
	ck_assert(service_wait_log(&svc, "plain1"));
	AUTO(strbuf) all = STRBUF(TOOL_FILE_MAX);
	ck_assert(tool_read(svc.log, &all));
	for (size_t i = 0; i < all.len; i++)
		ck_assert_msg(all.buf[i] == '\n' || (unsigned char)all.buf[i] >= 0x20,
			      "a control character is in the log");
}
END_TEST

/* Every line of a JSON log is one object with the four members a collector needs. */
START_TEST(every_json_line_is_an_object)
{
	AUTO(answer) a = ANSWER_INIT;
	service_up(&svc, NULL);
	service_execute(&svc, "print(1)", NULL, &a);
	service_stop(&svc);
	AUTO(strbuf) all = STRBUF(TOOL_FILE_MAX);
	ck_assert(tool_read(svc.log, &all));
	char *save = NULL;
	int lines = 0;
	for (char *line = strtok_r(all.buf, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save), lines++) {
		struct answer l = ANSWER_INIT;
		l.json = json_tokener_parse(line);
		ck_assert_msg(l.json, "not JSON: %s", line);
		static const char *const members[] = { "timestamp", "level", "logger", "message" };
		for (size_t i = 0; i < ARRAY_SIZE(members); i++)
			WANT(&l, strlen(answer_str(&l, members[i])) > 0);
		answer_clear(&l);
	}
	ck_assert_int_gt(lines, 2);
}
END_TEST

Suite *suite_log(void)
{
	Suite *s = suite_create("log");
	TCase *tc = tcase_create("log");
	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, one_log_line_with_stages_and_no_secrets);
	tcase_add_test(tc, plain_lines);
	tcase_add_test(tc, every_json_line_is_an_object);
	suite_add_tcase(s, tc);
	return s;
}
