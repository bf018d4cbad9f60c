/*
 * The settings as an operator meets them: a bad value stops the start and names key, value and
 * range; -t checks; -T prints the table, which is README.md's.
 */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "conf.h"
#include "suites.h"
#include "support/service.h"
#include "support/tool.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs the binary with an option (NULL: the start itself) and one setting; the exit status. */
static int run(const char *option, const char *setting, struct strbuf *out)
{
	AUTO_FREE char *run_dir = xasprintf(
		"RUN_DIR=%s/none/run", tool_temp_dir()); /* would not start, even if it passed */
	const char *const argv[] = { service_binary(), option, NULL };
	const char *const env[] = { setting && strncmp(setting, "RUN_DIR", 7) == 0 ? setting
										   : run_dir,
				    setting, NULL };
	return tool_run(argv, env, out);
}

START_TEST(good_settings_pass)
{
	AUTO(strbuf) out = STRBUF(1 << 20);
	ck_assert_msg(run("-t", NULL, &out) == 0, "%s", out.buf);
	ck_assert_msg(run("-t", "PORT=8080", &out) == 0, "%s", out.buf);
	ck_assert_msg(run("-t", "PORT=", &out) == 0, "an empty variable is an unset one: %s",
		      out.buf);
}
END_TEST

struct bad_row {
	const char *setting, *range;
};

static const struct bad_row bad_rows[] = {
	{ "PORT=0", "1 to 65535" },
	{ "PORT=65536", "1 to 65535" },
	{ "PORT=80x", "1 to 65535" },
	{ "PORT= 80", "1 to 65535" },
	{ "PORT=-1", "1 to 65535" },
	{ "PORT=99999999999999999999", "1 to 65535" },
	{ "MEMORY_LIMIT_MB=1", "32 to" },
	{ "CPU_LIMIT=0", "0.05 to" },
	{ "CPU_LIMIT=1e3", "0.05 to" },
	{ "CPU_LIMIT=nan", "0.05 to" },
	{ "LOG_LEVEL=loud", "error, warn, info, debug" },
	{ "LOG_FORMAT=xml", "plain, json" },
	{ "DOCKER_HOST=http://x", "unix:///path or tcp://host:port" },
	{ "DOCKER_HOST=unix://relative", "unix:///path or tcp://host:port" },
	{ "RUN_DIR=relative", "absolute path" },
	{ "INSTANCE=a b", "letters" },
	{ "CODE_EXEC_SANDBOX=none", "docker" },
	{ "OPTIONAL_LIMITS=swap,disk", "memory, swap, pids, cpu" },
	{ "MAX_CONCURRENT_JOBS=0", "1 to" },
};

START_TEST(a_bad_value_stops_the_start)
{
	AUTO(strbuf) out = STRBUF(1 << 20);
	const char *setting = bad_rows[_i].setting;
	AUTO_FREE char *key = xstrndup(setting, strcspn(setting, "="));
	const char *options[] = { "-t", NULL };
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		strbuf_reset(&out);
		ck_assert_int_ne(run(options[i], setting, &out), 0);
		ck_assert_msg(strstr(out.buf, key), "no key: %s", out.buf);
		ck_assert_msg(strstr(out.buf, setting + strlen(key) + 1), "no value: %s", out.buf);
		ck_assert_msg(strstr(out.buf, bad_rows[_i].range), "no range: %s", out.buf);
	}
}
END_TEST

static const char *const clashes[][2] = {
	{ "DEFAULT_TIMEOUT_MS=70000", "MAX_EXEC_TIMEOUT_MS" },
	{ "MEMORY_LIMIT_MB=4096", "MEMORY_MAX_MB" },
	{ "PIDS_LIMIT=1000", "PIDS_MAX" },
	{ "CPU_LIMIT=100", "CPU_MAX" },
	{ "DISK_LIMIT_MB=5000", "DISK_MAX_MB" },
};

START_TEST(settings_that_do_not_go_together)
{
	AUTO(strbuf) out = STRBUF(1 << 20);
	AUTO_FREE char *key = xstrndup(clashes[_i][0], strcspn(clashes[_i][0], "="));
	ck_assert_int_ne(run("-t", clashes[_i][0], &out), 0);
	ck_assert_msg(strstr(out.buf, key) && strstr(out.buf, clashes[_i][1]), "%s", out.buf);
}
END_TEST

static int run_file(const char *text, const char *setting, const char *option, struct strbuf *out)
{
	AUTO_FREE char *dir = tool_new_dir("conf");
	AUTO_FREE char *path = xasprintf("%s/f", dir);
	tool_write(path, text);
	const char *const argv[] = { service_binary(), "--config", path, option, NULL };
	const char *const env[] = { setting, NULL };
	int status = tool_run(argv, env, out);
	tool_rmtree(dir);
	return status;
}

START_TEST(a_file)
{
	AUTO(strbuf) out = STRBUF(1 << 20);
	ck_assert_msg(run_file("# comment\n\nPORT=8080\r\n  LOG_LEVEL = \"debug\"\n", NULL, "-t",
			       &out) == 0,
		      "%s", out.buf);
	strbuf_reset(&out);
	ck_assert_int_ne(run_file("PORT=8080\nCOLOUR=red\n", NULL, "-t", &out), 0);
	ck_assert_msg(strstr(out.buf, "COLOUR") && strstr(out.buf, "line 2"), "%s", out.buf);
	strbuf_reset(&out);
	ck_assert_int_ne(run_file("PORT=0\n", NULL, "-t", &out), 0);
	ck_assert_msg(strstr(out.buf, "PORT=0") && strstr(out.buf, "65535"), "%s", out.buf);
	strbuf_reset(&out);
	ck_assert_int_ne(run_file("PORT\n", NULL, "-t", &out), 0);
	ck_assert_msg(strstr(out.buf, "KEY=value"), "%s", out.buf);
}
END_TEST

START_TEST(a_missing_file_and_a_wrong_option)
{
	AUTO(strbuf) out = STRBUF(1 << 20);
	const char *const missing[] = { service_binary(), "--config", "/nonexistent/belljar", "-t",
					NULL };
	ck_assert_int_ne(tool_run(missing, NULL, &out), 0);
	ck_assert_msg(strstr(out.buf, "/nonexistent/belljar"), "%s", out.buf);
	strbuf_reset(&out);
	ck_assert_int_ne(run("--nonsense", NULL, &out), 0);
	ck_assert_msg(strstr(out.buf, "usage:"), "%s", out.buf);
}
END_TEST

/* Only root can start it, a user that isn't there can't serve it. */
START_TEST(a_missing_user_stops_the_start)
{
	AUTO(strbuf) out = STRBUF(1 << 20);
	AUTO_FREE char *dir = tool_new_dir("conf");
	AUTO_FREE char *run_dir = xasprintf("RUN_DIR=%s/run", dir);
	AUTO_FREE char *files = xasprintf("FILE_STORAGE_DIR=%s/files", dir);
	const char *const argv[] = { service_binary(), NULL };
	const char *const env[] = { run_dir, files, "SERVICE_USER=qq-nobody-there", NULL };
	ck_assert_int_ne(tool_run(argv, env, &out), 0);
	ck_assert_msg(strstr(out.buf, "SERVICE_USER") && strstr(out.buf, "qq-nobody-there"), "%s",
		      out.buf);
	strbuf_reset(&out);
	const char *const as_root[] = { run_dir, files, "SERVICE_USER=root", NULL };
	ck_assert_int_ne(tool_run(argv, as_root, &out), 0);
	ck_assert_msg(strstr(out.buf, "SERVICE_USER"), "%s", out.buf);
	tool_rmtree(dir);
}
END_TEST

/* The rows of the table in README.md, one line each, as they stand there. */
static void readme_rows(struct strbuf *out)
{
	AUTO(strbuf) all = STRBUF(4 << 20);
	AUTO_FREE char *path = xasprintf("%s/README.md", tool_root_dir());
	ck_assert(tool_read(path, &all));
	char *save = NULL;
	bool inside = false;
	for (char *line = strtok_r(all.buf, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (line[0] == '#')
			inside = strstr(line, "Configuration") != NULL;
		if (inside && strncmp(line, "| `", 3) == 0)
			strbuf_addf(out, "%s\n", line);
	}
}

START_TEST(the_table_is_the_readmes)
{
	AUTO(strbuf) printed = STRBUF(1 << 20);
	AUTO(strbuf) readme = STRBUF(1 << 20);
	ck_assert_int_eq(run("-T", NULL, &printed), 0);
	readme_rows(&readme);
	ck_assert_uint_gt(printed.len, 1000);
	ck_assert_msg(strcmp(printed.buf, readme.buf) == 0, "belljar -T:\n%s\nREADME.md:\n%.2000s",
		      printed.buf, readme.buf);
}
END_TEST

START_TEST(the_table_has_every_row)
{
	AUTO(strbuf) printed = STRBUF(1 << 20);
	ck_assert_int_eq(run("-T", NULL, &printed), 0);
	struct conf_row row;
	size_t rows = 0, lines = 0;
	for (; conf_row(rows, &row); rows++) {
		AUTO_FREE char *key =
			xasprintf("| `%s` | `%s` | %s |", row.key, row.fallback, row.range);
		ck_assert_msg(strstr(printed.buf, key), "no %s", row.key);
	}
	for (const char *p = printed.buf; *p; p++)
		lines += *p == '\n';
	ck_assert_uint_eq(rows, lines);
}
END_TEST

/* And keep it out of the environment, where it would win over what a reload finds in the file. */
START_TEST(the_scripts_read_the_file_as_the_service_does)
{
	AUTO(strbuf) out = STRBUF(1 << 16);
	AUTO_FREE char *dir = tool_new_dir("conf");
	AUTO_FREE char *file = xasprintf("%s/settings", dir);
	AUTO_FREE char *config = xasprintf("CONFIG=%s", file);
	AUTO_FREE char *script = xasprintf("%s/src/ops/none", tool_root_dir());
	const char *const argv[] = { "sh", "-c",
				     ". \"$(dirname \"$0\")/common.sh\"\n"
				     "echo \"<$PORT|$LOG_LEVEL|$INSTANCE|$HOST>\"; env",
				     script, NULL };
	tool_write(file,
		   "# one\nPORT = 8124 \nLOG_LEVEL=\"debug\"\n\tINSTANCE='a b'\r\nHOST=::1\n");
	const char *const env[] = { config, "HOST=127.0.0.1", NULL };
	ck_assert_msg(tool_run(argv, env, &out) == 0, "%s", out.buf);
	ck_assert_msg(strstr(out.buf, "<8124|debug|a b|127.0.0.1>"), "%s", out.buf);
	ck_assert_ptr_null(strstr(out.buf, "LOG_LEVEL="));
	strbuf_reset(&out);
	const char *const none[] = { "CONFIG=/none/at/all", NULL };
	ck_assert_int_ne(tool_run(argv, none, &out), 0);
	ck_assert_ptr_nonnull(strstr(out.buf, "/none/at/all cannot be read"));
}
END_TEST

Suite *suite_conf(void)
{
	Suite *s = suite_create("conf");
	TCase *tc = tcase_create("conf");
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, good_settings_pass);
	tcase_add_loop_test(tc, a_bad_value_stops_the_start, 0, (int)ARRAY_SIZE(bad_rows));
	tcase_add_loop_test(tc, settings_that_do_not_go_together, 0, (int)ARRAY_SIZE(clashes));
	tcase_add_test(tc, a_file);
	tcase_add_test(tc, a_missing_file_and_a_wrong_option);
	tcase_add_test(tc, a_missing_user_stops_the_start);
	tcase_add_test(tc, the_table_is_the_readmes);
	tcase_add_test(tc, the_table_has_every_row);
	tcase_add_test(tc, the_scripts_read_the_file_as_the_service_does);
	suite_add_tcase(s, tc);
	return s;
}
