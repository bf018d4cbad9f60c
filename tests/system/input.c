/*
 * The service and the assertions that test_input.c and test_caps.c share. Over FastCGI, so that
 * nginx refuses nothing on the service's behalf.
 */
#include "input.h"

#include "support/answer.h"
#include "support/fcgi.h"
#include "support/ps.h"
#include "support/service.h"

#include <check.h>
#include <string.h>

struct service input_service;
static pid_t workers[PS_MAX];
static size_t workers_count;

void input_setup(void)
{
	service_up(&input_service,
		   (const char *const[]){ "MAX_REQUEST_BYTES=8388608", "WORKERS=4", NULL });
	ck_assert(service_wait_role(&input_service, "worker", 4, 0));
	workers_count = service_role(&input_service, "worker", workers, PS_MAX);
}

void input_teardown(void)
{
	service_clear(&input_service);
}

void input_want_workers(void)
{
	ck_assert_uint_gt(workers_count, 0);
	for (size_t i = 0; i < workers_count; i++)
		ck_assert_msg(ps_alive(workers[i]), "worker %d died of the request",
			      (int)workers[i]);
}

void input_want_error(const struct answer *a, int status, const char *code)
{
	WANT_STATUS(a, status);
	WANT_STR(a, "error.code", code);
	WANT(a, strlen(answer_str(a, "error.message")) > 0);
	WANT(a, strlen(answer_str(a, "error.hint")) > 0);
	WANT(a, answer_get(a, "detail") != NULL);
	const char *type = answer_header(a, "Content-Type");
	WANT(a, type && strncmp(type, "application/json", 16) == 0);
	input_want_workers();
}

void input_post(const void *body, size_t len, struct answer *out)
{
	fcgi_call(input_service.fcgi,
		  &(struct fcgi_request){ .uri = "/v1/execute", .body = body, .len = len }, out,
		  60000);
}

void input_want_named(const struct answer *a, const char *field)
{
	const char *detail = json_object_to_json_string_ext(
		answer_get(a, "detail"), JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!strstr(detail, field))
		answer_fail(a, __FILE__, __LINE__, "detail does not name %s", field);
}
