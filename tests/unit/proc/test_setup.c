/* Paths an operator may get wrong and others may have prepared: RUN_DIR, the pid file, the folder
 * of files; and which settings a reload may change. */
#include "base/err.h"
#include "base/log.h"
#include "conf.h"
#include "proc/setup.h"
#include "unit/suites.h"

#include <check.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

static struct conf c;
static struct setup setup;
static struct err err;
static char base[32], run_dir[64], storage[64], pid_file[80], other[64];

static void begin(void)
{
	memcpy(base, "/tmp/belljar-unit-XXXXXX", 25);
	ck_assert_ptr_nonnull(mkdtemp(base));
	snprintf(run_dir, sizeof(run_dir), "%s/run", base);
	snprintf(storage, sizeof(storage), "%s/files", base);
	snprintf(other, sizeof(other), "%s/other", base);
	snprintf(pid_file, sizeof(pid_file), "%s/master.pid", run_dir);
	setenv("RUN_DIR", run_dir, 1);
	setenv("FILE_STORAGE_DIR", storage, 1);
	setenv("SERVICE_USER", "nobody", 1);
	setenv("LOG_LEVEL", "error", 1);
	err = (struct err)ERR_INIT;
	setup = (struct setup)SETUP_INIT;
	ck_assert_int_eq(conf_load(&c, NULL, &err), 0);
	conf_use(&c);
}

static void end(void)
{
	static const char *const keys[] = { "RUN_DIR", "FILE_STORAGE_DIR", "SERVICE_USER",
					    "LOG_LEVEL" };
	setup_close(&setup);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		unsetenv(keys[i]);
	unlink(pid_file);
	unlink(run_dir);
	rmdir(run_dir);
	rmdir(storage);
	unlink(other);
	rmdir(other);
	rmdir(base);
	conf_use(NULL);
	conf_clear(&c);
}

static mode_t mode_of(const char *path)
{
	struct stat st;
	ck_assert_int_eq(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static void want_refused(const char *words)
{
	ck_assert_int_eq(setup_open(&setup, &err), -1);
	ck_assert_int_eq(err.code, ERR_INVALID);
	ck_assert_msg(strstr(err.text, words), "%s", err.text);
}

START_TEST(a_fresh_start)
{
	ck_assert_msg(setup_open(&setup, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(mode_of(run_dir), 0711);
	ck_assert_uint_eq(mode_of(storage), 0710);
	struct stat st;
	ck_assert_int_eq(stat(storage, &st), 0);
	ck_assert_uint_eq(st.st_gid, getgrnam("www-data")->gr_gid);
	ck_assert_int_eq(access(pid_file, F_OK), 0);
	struct setup second = SETUP_INIT;
	ck_assert_int_eq(setup_open(&second, &err), -1);
	ck_assert_msg(strstr(err.text, "another belljar"), "%s", err.text);
	setup_close(&second);
	ck_assert_msg(access(pid_file, F_OK) == 0, "the loser took the winner's file away");
}
END_TEST

START_TEST(a_closed_empty_folder_is_opened)
{
	ck_assert_int_eq(mkdir(run_dir, 0700), 0);
	ck_assert_msg(setup_open(&setup, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(mode_of(run_dir), 0711);
}
END_TEST

/* As /tmp: RUN_DIR=/tmp must not take it from everybody. */
START_TEST(a_folder_of_all_is_refused_and_left_alone)
{
	static const mode_t modes[] = { 01777, 0777, 0775 };
	ck_assert_int_eq(mkdir(run_dir, 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		ck_assert_int_eq(chmod(run_dir, modes[i]), 0);
		want_refused("others than root may write");
		ck_assert_uint_eq(mode_of(run_dir), modes[i]);
		setup_close(&setup);
	}
}
END_TEST

/* As /root. */
START_TEST(a_closed_folder_with_things_in_it_is_refused)
{
	char thing[80];
	ck_assert_int_eq(mkdir(run_dir, 0700), 0);
	snprintf(thing, sizeof(thing), "%s/thing", run_dir);
	close(open(thing, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	want_refused("holds other things");
	ck_assert_uint_eq(mode_of(run_dir), 0700);
	unlink(thing);
}
END_TEST

START_TEST(a_link_is_not_followed)
{
	ck_assert_int_eq(mkdir(other, 0711), 0);
	ck_assert_int_eq(symlink(other, run_dir), 0);
	want_refused("cannot open the directory");
}
END_TEST

START_TEST(another_users_folder_is_refused)
{
	ck_assert_int_eq(mkdir(run_dir, 0755), 0);
	ck_assert_int_eq(chown(run_dir, 12345, 12345), 0);
	want_refused("uid 12345");
}
END_TEST

/* A name that leads to a file of somebody else, prepared before: it must not be emptied. */
static void want_other_unharmed(void)
{
	struct stat st;
	want_refused("RUN_DIR: ");
	ck_assert_int_eq(stat(other, &st), 0);
	ck_assert_int_eq(st.st_size, 8);
}

START_TEST(a_prepared_pid_file_harms_nobody)
{
	ck_assert_int_eq(mkdir(run_dir, 0711), 0);
	int fd = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	ck_assert_int_eq(write(fd, "precious", 8), 8);
	close(fd);
	ck_assert_int_eq(_i == 0 ? symlink(other, pid_file) : link(other, pid_file), 0);
	want_other_unharmed();
}
END_TEST

static const char *const fixed_keys[][2] = {
	{ "RUN_DIR", "/tmp/elsewhere" },	  { "SERVICE_USER", "daemon" },
	{ "FILE_STORAGE_DIR", "/tmp/elsewhere" }, { "WEB_GROUP", "daemon" },
	{ "DOCKER_HOST", "tcp://127.0.0.1:1" },	  { "INSTANCE", "elsewhere" },
};

START_TEST(what_a_reload_cannot_change)
{
	struct conf *mine = calloc(1, sizeof(*mine));
	struct err none = ERR_INIT;
	ck_assert_int_eq(conf_load(mine, NULL, &none), 0);
	conf_use(mine);
	setenv(fixed_keys[_i][0], fixed_keys[_i][1], 1);
	ck_assert_int_eq(setup_reload(&setup, &err), -1);
	ck_assert_msg(strstr(err.text, fixed_keys[_i][0]) == err.text, "%s", err.text);
	ck_assert_ptr_eq(conf, mine);
	unsetenv(fixed_keys[_i][0]);
	conf_use(&c);
	conf_clear(mine);
	free(mine);
}
END_TEST

START_TEST(what_a_reload_changes)
{
	struct conf *mine = calloc(1, sizeof(*mine));
	ck_assert_int_eq(conf_load(mine, NULL, &err), 0);
	conf_use(mine);
	setenv("MAX_CONCURRENT_JOBS", "77", 1);
	ck_assert_int_eq(setup_reload(&setup, &err), 0);
	ck_assert_ptr_ne(conf, mine);
	ck_assert_int_eq(conf->jobs, 77);
	unsetenv("MAX_CONCURRENT_JOBS");
	struct conf *now = (struct conf *)(uintptr_t)conf;
	conf_use(&c);
	conf_clear(now);
	free(now);
}
END_TEST

Suite *suite_proc_setup(void)
{
	Suite *s = suite_create("proc_setup");
	TCase *tc = tcase_create("proc_setup");
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_loop_test(tc, what_a_reload_cannot_change, 0, (int)ARRAY_SIZE(fixed_keys));
	tcase_add_test(tc, what_a_reload_changes);
	/* The master is root's; nobody else can make these. */
	if (geteuid() == 0) {
		tcase_add_test(tc, a_fresh_start);
		tcase_add_test(tc, a_closed_empty_folder_is_opened);
		tcase_add_test(tc, a_folder_of_all_is_refused_and_left_alone);
		tcase_add_test(tc, a_closed_folder_with_things_in_it_is_refused);
		tcase_add_test(tc, a_link_is_not_followed);
		tcase_add_test(tc, another_users_folder_is_refused);
		tcase_add_loop_test(tc, a_prepared_pid_file_harms_nobody, 0, 2);
	}
	suite_add_tcase(s, tc);
	return s;
}
