/* The settings: defaults, file, environment, refusals that name key and range, and the sizes
 * derived from them. */
#include "base/err.h"
#include "conf.h"
#include "limits.h"
#include "unit/suites.h"

#include <check.h>
#include <unistd.h>

static struct conf c;
static struct err err;
static char path[] = "/tmp/belljar-conf-XXXXXX";

static void setup(void)
{
	struct conf_row row;
	int fd;

	for (size_t i = 0; conf_row(i, &row); i++)
		unsetenv(row.key);
	memcpy(path + strlen(path) - 6, "XXXXXX", 6);
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	err = (struct err)ERR_INIT;
}

static void teardown(void)
{
	conf_clear(&c);
	unlink(path);
}

static int load_text(const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	ck_assert_uint_eq(fwrite(text, 1, len, f), len);
	fclose(f);
	return conf_load(&c, path, &err);
}

START_TEST(defaults_work)
{
	ck_assert_int_eq(conf_load(&c, NULL, &err), 0);
	ck_assert_str_eq(c.host, "127.0.0.1");
	ck_assert_int_eq(c.port, 8000);
	ck_assert_str_eq(c.run_dir, "/run/belljar");
	ck_assert_str_eq(c.docker_host, "unix:///var/run/docker.sock");
	ck_assert_str_eq(c.sandbox, "docker");
	ck_assert_str_eq(c.oci_runtime, "");
	ck_assert_int_eq(c.default_timeout_ms, 10000);
	ck_assert_int_eq(c.max_timeout_ms, 60000);
	ck_assert_int_eq(c.cpu_milli, 1000);
	ck_assert_int_eq(c.max_output_bytes, 1048576);
	ck_assert_int_eq(c.max_request_bytes, 25 << 20);
	ck_assert_int_eq(conf_workers(&c), 8 + 16 + LIMIT_WORKER_RESERVE);
}
END_TEST

START_TEST(environment_beats_file_beats_default)
{
	static const char text[] =
		"# a comment\n\n  PORT = 81 \r\nHOST=\"a.example\"\nLABEL_=\nCPU_LIMIT='0.5'\n";
	static const char good[] =
		"# a comment\n\n  PORT = 81 \r\nHOST=\"a.example\"\nOCI_RUNTIME=\nCPU_LIMIT='0.5'";

	ck_assert_int_eq(load_text(text, strlen(text)), -1);
	setenv("HOST", "b.example", 1);
	setenv("WORKERS", "", 1);
	ck_assert_int_eq(load_text(good, strlen(good)), 0);
	ck_assert_int_eq(c.port, 81);
	ck_assert_str_eq(c.host, "b.example");
	ck_assert_str_eq(c.oci_runtime, "");
	ck_assert_int_eq(c.cpu_milli, 500);
	ck_assert_int_eq(c.workers, 0);
}
END_TEST

static const struct {
	const char *key, *value,
		*want; /* want: NULL when the value is good, else a part of the text */
} values[] = {
	{ "PORT", "65535", NULL },
	{ "PORT", "65536", "PORT=65536 is not valid: it must be 1 to 65535." },
	{ "PORT", "0", "1 to 65535" },
	{ "PORT", " 80", "1 to 65535" },
	{ "PORT", "eighty", "PORT=eighty" },
	{ "CPU_LIMIT", "1.0", NULL },
	{ "CPU_LIMIT", "0.01", "0.05 to 1024" },
	{ "CPU_LIMIT", "1/2", "0.05 to 1024" },
	{ "RUN_DIR", "relative", "absolute path" },
	{ "RUN_DIR",
	  "/"
	  "a2345678901234567890123456789012345678901234567890123456789012345678901234567890",
	  "80 bytes" },
	{ "DOCKER_HOST", "tcp://engine:2375", NULL },
	{ "DOCKER_HOST", "tcp://[::1]:2375", NULL },
	{ "DOCKER_HOST", "unix:///x/docker.sock", NULL },
	{ "DOCKER_HOST", "tcp://engine", "tcp://host:port" },
	{ "DOCKER_HOST", "tcp://engine:0", "tcp://host:port" },
	{ "DOCKER_HOST", "tcp://:1", "tcp://host:port" },
	{ "DOCKER_HOST", "unix://docker.sock", "unix:///path" },
	{ "DOCKER_HOST", "http://x:1", "DOCKER_HOST=http://x:1" },
	{ "OCI_RUNTIME", "crun", NULL },
	{ "OCI_RUNTIME", "a b", "name or empty" },
	{ "PYTHON_IMAGE", "reg:5000/a/b:tag@sha256:00", NULL },
	{ "PYTHON_IMAGE", "-x", "image reference" },
	{ "PYTHON_IMAGE", "a b", "image reference" },
	{ "GUEST_DIR", "/opt/belljar", NULL },
	{ "GUEST_DIR", "opt", "absolute path or empty" },
	{ "INSTANCE", "two", NULL },
	{ "INSTANCE", "a=b", "letters, digits" },
	{ "SERVICE_USER", "www-data", NULL },
	{ "SERVICE_USER", "-x", "user name" },
	{ "CODE_EXEC_SANDBOX", "none", "docker" },
	{ "OPTIONAL_LIMITS", "swap", NULL },
	{ "OPTIONAL_LIMITS", "memory,swap,pids,cpu", NULL },
	{ "OPTIONAL_LIMITS", "swap,", "memory, swap, pids, cpu" },
	{ "OPTIONAL_LIMITS", "swap, pids", "memory, swap, pids, cpu" },
	{ "OPTIONAL_LIMITS", "swapswapswap", "memory, swap, pids, cpu" },
	{ "LOG_LEVEL", "debug", NULL },
	{ "LOG_LEVEL", "INFO", "error, warn, info, debug" },
	{ "LOG_FORMAT", "json", NULL },
	{ "LOG_FORMAT", "xml", "plain, json" },
	{ "QUEUE_LENGTH", "0", NULL },
	{ "MAX_OUTPUT_BYTES", "20", NULL },
	/* Together with the defaults: */
	{ "DEFAULT_TIMEOUT_MS", "60001",
	  "DEFAULT_TIMEOUT_MS (60001) is over MAX_EXEC_TIMEOUT_MS (60000)" },
	{ "MAX_EXEC_TIMEOUT_MS", "10000", NULL },
	{ "MAX_EXEC_TIMEOUT_MS", "9999", "DEFAULT_TIMEOUT_MS (10000)" },
	{ "MEMORY_LIMIT_MB", "4096", "MEMORY_MAX_MB (2048)" },
	{ "CPU_LIMIT", "2.5", "CPU_LIMIT (2.5) is over CPU_MAX (2)" },
	{ "PIDS_LIMIT", "257", "PIDS_MAX (256)" },
	{ "DISK_LIMIT_MB", "1025", "DISK_MAX_MB (1024)" },
};

START_TEST(values_are_checked)
{
	int rc;

	setenv(values[_i].key, values[_i].value, 1);
	rc = conf_load(&c, NULL, &err);
	ck_assert_msg(rc == (values[_i].want ? -1 : 0), "%s=%s: %s", values[_i].key,
		      values[_i].value, err.text);
	if (!values[_i].want)
		return;
	ck_assert_int_eq(err.code, ERR_INVALID);
	ck_assert_msg(strstr(err.text, values[_i].want), "%s", err.text);
	ck_assert_msg(strstr(err.text, values[_i].key), "%s", err.text);
	ck_assert_ptr_null(c.host);
}
END_TEST

#define FILE_ROW(text, want)                                                                       \
	{                                                                                          \
		text, sizeof(text) - 1, want                                                       \
	}
static const struct {
	const char *text;
	size_t len;
	const char *want;
} files[] = {
	FILE_ROW("PORT=80\nFOO=1\n", "line 2: there is no key FOO"),
	FILE_ROW("PORT\n", "line 1 is not KEY=value."),
	FILE_ROW("port=1\n", "no key port"),
	FILE_ROW("\n\nPORT=x\n", "PORT=x"),
	FILE_ROW("PORT=8\0\n", "NUL"),
	FILE_ROW("export PORT=1\n", "no key export PORT"),
	FILE_ROW("PORT=1\nHOST=a\nPORT=1\n", "line 3: PORT is set a second time"),
	FILE_ROW("\xef\xbb\xbfPORT=x\n", "PORT=x"),
	FILE_ROW("\x7f"
		 "ELF\n",
		 "line 1 is not KEY=value"),
	FILE_ROW("secret-of-somebody\n", "line 1 is not KEY=value."),
};

START_TEST(files_are_checked)
{
	ck_assert_int_eq(load_text(files[_i].text, files[_i].len), -1);
	ck_assert_int_eq(err.code, ERR_INVALID);
	ck_assert_msg(strstr(err.text, files[_i].want), "%s", err.text);
}
END_TEST

START_TEST(odd_files_are_refused)
{
	static char much[70000];

	ck_assert_int_eq(conf_load(&c, "/nonexistent/belljar.conf", &err), -1);
	ck_assert_msg(strstr(err.text, "No such file"), "%s", err.text);
	ck_assert_int_eq(conf_load(&c, "/tmp", &err), -1);
	/* Neither waits for it nor reads it for ever. */
	ck_assert_int_eq(conf_load(&c, "/dev/zero", &err), -1);
	ck_assert_msg(strstr(err.text, "not a regular file"), "%s", err.text);
	memset(much, '\n', sizeof(much));
	ck_assert_int_eq(load_text(much, sizeof(much)), -1);
	ck_assert_msg(strstr(err.text, "65536"), "%s", err.text);
}
END_TEST

START_TEST(rows_describe_themselves)
{
	struct conf_row row, other;
	size_t i;

	for (i = 0; conf_row(i, &row); i++) {
		ck_assert_uint_gt(strlen(row.help), 5);
		ck_assert_uint_gt(strlen(row.range), 3);
		ck_assert_uint_lt(strlen(row.range), sizeof(row.range) - 1);
		ck_assert_ptr_null(strpbrk(row.help, "|\n"));
		for (size_t k = 0; k < i; k++) {
			ck_assert(conf_row(k, &other));
			ck_assert_str_ne(other.key, row.key);
		}
	}
	ck_assert_uint_gt(i, 30);
	ck_assert(!conf_row(SIZE_MAX, &row));
}
END_TEST

/* Workspace, /tmp and /dev/shm are memory: they must leave the program something, whatever the
 * limit. */
START_TEST(spaces_fit_below_the_memory)
{
	ck_assert_int_eq(conf_load(&c, NULL, &err), 0);
	for (int64_t mb = LIMIT_MEMORY_MIN_MB; mb <= 4096; mb++) {
		int64_t tmp = conf_tmp_mb(&c, mb), disk = conf_disk_mb(&c, mb);
		int64_t shm = MIN((mb - tmp - disk) / 2, (int64_t)LIMIT_SHM_MB);

		ck_assert_int_ge(tmp, LIMIT_TMP_MIN_MB);
		ck_assert_int_ge(disk, 4);
		ck_assert_int_le(tmp, c.tmp_mb);
		ck_assert_int_le(disk, c.disk_mb);
		ck_assert_int_le(tmp + disk + shm, mb / 4 * 3 + 3);
	}
	ck_assert_int_eq(conf_tmp_mb(&c, 256), 64);
	ck_assert_int_eq(conf_disk_mb(&c, 256), 64);
	ck_assert_int_eq(conf_tmp_mb(&c, 512), 64);
	ck_assert_int_eq(conf_disk_mb(&c, 512), 256);
}
END_TEST

START_TEST(a_byte_order_mark_is_no_text)
{
	static const char text[] = "\xef\xbb\xbfPORT=81\n";

	ck_assert_int_eq(load_text(text, strlen(text)), 0);
	ck_assert_int_eq(c.port, 81);
}
END_TEST

/* Under a CGI server the environment holds what clients say: as HTTP_* and in the variables of RFC
 * 3875. No key may be one of them. */
START_TEST(no_client_can_set_a_key)
{
	static const char *const theirs[] = {
		"AUTH_TYPE",	   "CONTENT_LENGTH",	"CONTENT_TYPE",	   "DOCUMENT_ROOT",
		"DOCUMENT_URI",	   "GATEWAY_INTERFACE", "HTTPS",	   "PATH_INFO",
		"PATH_TRANSLATED", "QUERY_STRING",	"REMOTE_ADDR",	   "REMOTE_HOST",
		"REMOTE_IDENT",	   "REMOTE_PORT",	"REMOTE_USER",	   "REQUEST_METHOD",
		"REQUEST_SCHEME",  "REQUEST_URI",	"SCRIPT_FILENAME", "SCRIPT_NAME",
		"SERVER_ADDR",	   "SERVER_NAME",	"SERVER_PORT",	   "SERVER_PROTOCOL",
		"SERVER_SOFTWARE", "REQUEST_ID",
	};
	struct conf_row row;

	for (size_t i = 0; conf_row(i, &row); i++) {
		ck_assert_msg(strncmp(row.key, "HTTP_", 5), "%s", row.key);
		for (size_t n = 0; n < ARRAY_SIZE(theirs); n++)
			ck_assert_str_ne(row.key, theirs[n]);
	}
}
END_TEST

START_TEST(workers_can_be_set)
{
	setenv("WORKERS", "3", 1);
	ck_assert_int_eq(conf_load(&c, NULL, &err), 0);
	ck_assert_int_eq(conf_workers(&c), 3);
	conf_use(&c);
	ck_assert_ptr_eq(conf, &c);
	conf_use(NULL);
}
END_TEST

Suite *suite_conf(void)
{
	Suite *s = suite_create("conf");
	TCase *tc = tcase_create("conf");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, defaults_work);
	tcase_add_test(tc, environment_beats_file_beats_default);
	tcase_add_loop_test(tc, values_are_checked, 0, ARRAY_SIZE(values));
	tcase_add_loop_test(tc, files_are_checked, 0, ARRAY_SIZE(files));
	tcase_add_test(tc, odd_files_are_refused);
	tcase_add_test(tc, rows_describe_themselves);
	tcase_add_test(tc, spaces_fit_below_the_memory);
	tcase_add_test(tc, a_byte_order_mark_is_no_text);
	tcase_add_test(tc, no_client_can_set_a_key);
	tcase_add_test(tc, workers_can_be_set);
	suite_add_tcase(s, tc);
	return s;
}
