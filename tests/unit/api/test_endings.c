/* Every way a program can end, from the guest's verdict or the lack of one to status, exit code,
 * signal and message of the answer. */
#include "unit/api/api_fixture.h"
#include "unit/api/keeper_script.h"
#include "unit/box/guest_script.h"
#include "unit/suites.h"

#include <check.h>
#include <stdlib.h>
#include <unistd.h>

static void ends(int fd, struct frame_exit e)
{
	api_guest_started(fd);
	guest_say_exit(fd, &e);
	api_guest_bye(fd);
}
static void ends_error(int fd)
{
	ends(fd, (struct frame_exit){ .cause = FRAME_CAUSE_EXIT, .exit_code = 3 });
}
static void ends_child_oom(int fd)
{
	ends(fd, (struct frame_exit){ .cause = FRAME_CAUSE_EXIT, .oom = 1 });
}
static void ends_timeout(int fd)
{
	ends(fd,
	     (struct frame_exit){ .cause = FRAME_CAUSE_TIMEOUT, .exit_code = 137, .signal = 9 });
}
static void ends_oom(int fd)
{
	ends(fd, (struct frame_exit){
			 .cause = FRAME_CAUSE_OOM, .exit_code = 137, .signal = 9, .oom = 1 });
}
static void ends_kill(int fd)
{
	ends(fd, (struct frame_exit){ .cause = FRAME_CAUSE_SIGNAL, .exit_code = 137, .signal = 9 });
}
static void ends_segv(int fd)
{
	ends(fd,
	     (struct frame_exit){ .cause = FRAME_CAUSE_SIGNAL, .exit_code = 139, .signal = 11 });
}
static void ends_cpu(int fd)
{
	ends(fd, (struct frame_exit){ .cause = FRAME_CAUSE_CPU, .exit_code = 152, .signal = 24 });
}
static void ends_lost(int fd)
{
	api_guest_started(fd);
	guest_say(fd, FRAME_STDOUT, "last", 4);
}
static void ends_silent(int fd)
{
	api_guest_started(fd);
	sleep(60);
}

struct ending {
	void (*guest)(int);
	const char *status, *signal, *message;
	int64_t code; /* -1: null */
	bool timed_out, oom;
};

static const struct ending endings[] = {
	{ ends_error, "error", NULL, NULL, 3, false, false },
	{ ends_child_oom, "ok", NULL, "a process was killed: the 128 MiB memory limit was reached",
	  0, false, true },
	{ ends_timeout, "timeout", NULL, "stopped: the time limit of 1500 ms was reached", -1, true,
	  false },
	{ ends_oom, "oom", "SIGKILL", "killed: the 128 MiB memory limit was reached", 137, false,
	  true },
	{ ends_kill, "signaled", "SIGKILL", "ended by SIGKILL", 137, false, false },
	{ ends_segv, "signaled", "SIGSEGV", "ended by SIGSEGV", 139, false, false },
	{ ends_cpu, "signaled", "SIGXCPU",
	  "killed: the CPU time limit of 30 s was reached (SIGXCPU)", 152, false, false },
	{ ends_lost, "error", NULL,
	  "the container ended without a verdict: the program ended its own container, or the "
	  "engine did",
	  -1, false, false },
	{ ends_silent, "timeout", NULL, "stopped: the time limit of 1500 ms was reached", -1, true,
	  false },
};

static void is_text_or_null(const char *where, const char *text)
{
	if (text)
		ck_assert_str_eq(api_text(where), text);
	else
		ck_assert_msg(api_is_null(where), "%s", where);
}

START_TEST(names_every_ending)
{
	const struct ending *e = &endings[_i];

	ck_assert_int_eq(
		api_execute_with(
			e->guest,
			"{\"code\":\"\",\"timeout_ms\":1500,\"limits\":{\"memory_mb\":128}}"),
		200);
	ck_assert_str_eq(api_text("status"), e->status);
	ck_assert_str_eq(api_fixture.times.outcome, e->status);
	is_text_or_null("signal", e->signal);
	is_text_or_null("message", e->message);
	if (e->code >= 0)
		ck_assert_int_eq(api_int("exit_code"), e->code);
	else
		ck_assert(api_is_null("exit_code"));
	ck_assert_int_eq(json_object_get_boolean(api_at("timed_out")), e->timed_out);
	ck_assert_int_eq(json_object_get_boolean(api_at("oom_killed")), e->oom);
	ck_assert_int_eq(keeper_limits().memory_mb, 128);
}
END_TEST

Suite *suite_api_endings(void)
{
	Suite *s = suite_create("api/endings");
	TCase *t = tcase_create("endings");

	tcase_set_timeout(t, 30);
	tcase_add_checked_fixture(t, api_fixture_setup, api_fixture_teardown);
	tcase_add_loop_test(t, names_every_ending, 0, ARRAY_SIZE(endings));
	suite_add_tcase(s, t);
	return s;
}
