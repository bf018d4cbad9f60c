#pragma once

#include <check.h>

/* One suite a file test_<name>.c; CK_RUN_SUITE=<name> runs one. */
Suite *suite_conf(void);
Suite *suite_execute(void);
Suite *suite_log(void);
Suite *suite_metrics(void);
Suite *suite_files(void);
Suite *suite_form(void);
Suite *suite_cases(void);
Suite *suite_sandbox(void);
Suite *suite_hostile(void);
Suite *suite_input(void);
Suite *suite_caps(void);
Suite *suite_nginx(void);
Suite *suite_download(void);
Suite *suite_site(void);
Suite *suite_health(void);
Suite *suite_roles(void);
Suite *suite_supervision(void);
Suite *suite_guard(void);
Suite *suite_keeper(void);
Suite *suite_pool(void);
Suite *suite_flood(void);
Suite *suite_restart(void);
Suite *suite_cgi(void);
Suite *suite_memory(void);
Suite *suite_store(void);
Suite *suite_stored(void);
Suite *suite_upload(void);
Suite *suite_upload_ids(void);
Suite *suite_upload_faults(void);
Suite *suite_engine(void);
Suite *suite_browser(void);
