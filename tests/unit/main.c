/*
 * One binary with all unit suites. CK_RUN_SUITE=wire_frame runs one of them; Check prints the
 * closing line that CI reads. A name that fits no suite is a failure, not an empty success.
 */
#include "unit/suites.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* The tests of memory exhaustion need malloc to fail as it does without a sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

int main(void)
{
#define ADD(name) srunner_add_suite(runner, suite_##name());
	SRunner *runner = srunner_create(suite_conf());
	int failed, run;

	SUITES(ADD)
	/* As the service has it; tests write to sockets whose other end is closed. */
	signal(SIGPIPE, SIG_IGN);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	run = srunner_ntests_run(runner);
	srunner_free(runner);
	if (run == 0)
		fprintf(stderr, "no test was run: is CK_RUN_SUITE right?\n");
	return failed == 0 && run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
