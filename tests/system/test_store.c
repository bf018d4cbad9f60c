/*
 * The file store in the running service: the janitor, with its user and its filter, clears away
 * what has expired and what a dead writer left, and nothing else.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "store/beneath.h"
#include "store/blob.h"
#include "store/blob_list.h"
#include "store/blob_write.h"
#include "store/mime.h"
#include "store/store.h"
#include "support/service.h"
#include "support/tool.h"
#include "system/suites.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEAD_WRITER "0e3b6f3c-6a3e-4b57-9c39-0c6d7f1a2b3c"

static struct service svc;

static void put(struct store *store, const char *name, int64_t ttl_ms)
{
	const struct blob_rules rules = { .max_bytes = 100, .max_name = "X", .ttl_ms = ttl_ms };
	AUTO(blob_write) w = BLOB_WRITE_INIT;
	struct err err = ERR_INIT;

	if (blob_write_open(&w, store, "local", name, &rules, &err) < 0 ||
	    blob_write_add(&w, "some text", 9, &err) < 0 || blob_write_commit(&w, NULL, &err) < 0) {
		fprintf(stderr, "%s: %s\n", err.text, err.cause);
		_exit(1);
	}
}

/* A folder of a writer that was killed an hour ago. */
static void leave_half(struct store *store)
{
	const struct timespec old[2] = { { .tv_nsec = UTIME_OMIT },
					 { .tv_sec = time(NULL) - 3600 } };
	AUTO_CLOSE int tmp = store_dir(store, "local", "tmp", true);
	AUTO_CLOSE int dir = tmp < 0 ? -1 : beneath_make(tmp, DEAD_WRITER, STORE_DIR_MODE);
	AUTO_CLOSE int content = dir < 0 ? -1 : openat(dir, "content", O_WRONLY | O_CREAT, 0644);

	if (content < 0 || write(content, "half", 4) != 4 || futimens(dir, old) < 0)
		_exit(2);
}

/* As a worker would, in a process of its own with the service's user. */
static void plant(const char *dir)
{
	const struct passwd *user = getpwnam(tool_service_user());
	const struct store_limits none = { 0 };
	AUTO(store) store = STORE_INIT;
	struct err err = ERR_INIT;

	if (!user || setgroups(0, NULL) < 0 || setgid(user->pw_gid) < 0 ||
	    setuid(user->pw_uid) < 0 || store_open(&store, dir, &none, &err) < 0)
		_exit(3);
	put(&store, "short", 1);
	put(&store, "long", 3600000);
	leave_half(&store);
	_exit(0);
}

static bool is_swept(void *arg)
{
	AUTO(blob_list) list = { 0 };
	struct err err = ERR_INIT;
	struct stat st;
	struct store *store = arg;

	return blob_list_load(&list, store, "local", NULL, 10, &err) == 0 && list.count == 1 &&
	       strcmp(list.items[0].name, "long") == 0 &&
	       fstatat(store->fd, "local/tmp/" DEAD_WRITER, &st, 0) < 0;
}

START_TEST(the_janitor_clears_away)
{
	const struct store_limits none = { 0 };
	AUTO(store) store = STORE_INIT;
	struct err err = ERR_INIT;
	char dir[256];
	int status;

	service_up(&svc, NULL);
	snprintf(dir, sizeof(dir), "%s/files", svc.dir);
	ck_assert(mime_setup(&err) == 0);
	pid_t pid = fork();
	if (pid == 0)
		plant(dir);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(store_open(&store, dir, &none, &err), 0);
	clock_wait(clock_ms() + 5); /* "short" lives for one */
	/* A new one begins with a sweep. */
	pid_t janitor = service_one(&svc, "janitor");
	ck_assert(kill(janitor, SIGKILL) == 0);
	ck_assert_msg(tool_until(is_swept, &store, TOOL_WAIT_MS), "it was not swept");
	ck_assert_msg(
		service_wait_log(&svc, "removed 1 expired and 0 damaged files and 1 leftovers"),
		"the log does not say so");
}
END_TEST

static void tear_down(void)
{
	service_clear(&svc);
}

Suite *suite_store(void)
{
	Suite *s = suite_create("store");
	TCase *t = tcase_create("store");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, NULL, tear_down);
	tcase_add_test(t, the_janitor_clears_away);
	suite_add_tcase(s, t);
	return s;
}
