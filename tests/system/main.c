/*
 * All system tests in one binary: the real service, real nginx, real Docker. Needs root, an engine
 * and the Python image (make test sees to that). Uses ports, names and labels of its own and leaves
 * nothing behind.
 */
#include "base/base.h"
#include "suites.h"
#include "support/answer.h"
#include "support/cleanup.h"
#include "support/dock.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static Suite *(*const suites[])(void) = {
	suite_conf,	  suite_execute,       suite_files,   suite_cases,	 suite_sandbox,
	suite_hostile,	  suite_input,	       suite_caps,    suite_nginx,	 suite_health,
	suite_roles,	  suite_guard,	       suite_keeper,  suite_supervision, suite_log,
	suite_restart,	  suite_cgi,	       suite_memory,  suite_store,	 suite_stored,
	suite_engine,	  suite_form,	       suite_browser, suite_download,	 suite_upload,
	suite_upload_ids, suite_upload_faults, suite_site,    suite_pool,	 suite_flood,
	suite_metrics,
};

/* What is missing is said once here instead of by every test. */
static bool can_run(void)
{
	AUTO(answer) a = ANSWER_INIT;
	if (geteuid() != 0) {
		fprintf(stderr, "system tests must run as root\n");
		return false;
	}
	dock_call("GET", "/_ping", NULL, &a);
	if (a.status != 200) {
		fprintf(stderr,
			"no Docker engine answers (status %d %s); start one: src/ops/engine.sh "
			"start\n",
			a.status, a.problem);
		return false;
	}
	if (!dock_has_image(dock_image())) {
		fprintf(stderr, "the engine has no image %s; build it: make images\n",
			dock_image());
		return false;
	}
	return true;
}

int main(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (!can_run())
		return EXIT_FAILURE;
	cleanup_setup();
	SRunner *runner = srunner_create(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(suites); i++)
		srunner_add_suite(runner, suites[i]());
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
