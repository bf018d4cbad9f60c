/*
 * The store after faults: a process killed at every system call of a write and of a delete, a disk
 * without space, leftovers. Whatever happens, a file is there whole or not at all, and a sweep
 * makes the rest clean.
 */
#include "base/clock.h"
#include "base/err.h"
#include "support/tool.h"
#include "unit/store/store_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 150000

/* What the child does, under the parent's eyes. */
static char victim[IDENT_UUID];

static int write_one(void)
{
	return put_bytes("a", BYTES, 7, NULL);
}

static int delete_one(void)
{
	return blob_delete(&store, "t", victim, &err);
}

static void be_traced(int (*work)(void))
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
		_exit(9);
	_exit(work() < 0);
}

/* Runs work in a child up to its n-th stop at a system call and kills it there; true if it ended
 * before. */
static bool killed_late(int (*work)(void), int n)
{
	pid_t pid = fork();
	int status = 0;

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		be_traced(work);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSTOPPED(status), "the child is not traced: status %x", (unsigned)status);
	for (int i = 0; i < n; i++) {
		ck_assert_int_eq(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status)) {
			ck_assert_int_eq(WEXITSTATUS(status), 0);
			return true;
		}
	}
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	return false;
}

/* The number of files that a list shows, each of which must be whole. */
static size_t whole_files(void)
{
	AUTO(blob_list) list = { 0 };

	ck_assert_int_eq(blob_list_load(&list, &store, "t", NULL, 100, &err), 0);
	for (size_t i = 0; i < list.count; i++)
		ck_assert(same_bytes(list.items[i].id, BYTES, 7));
	return list.count;
}

static void sweep_late(struct sweep *out)
{
	ck_assert_int_eq(
		sweep_run(&store, clock_wall_ms() + LIMIT_STALE_MS + 1000, NULL, out, &err), 0);
}

static void check_clean(size_t files)
{
	struct sweep swept;

	sweep_late(&swept);
	ck_assert_uint_eq(whole_files(), files);
	ck_assert_int_eq(files_on_disk(), 2 * (int)files);
	ck_assert(rmdir(below("t/tmp")) == 0 || errno == ENOENT);
	check_counters();
}

START_TEST(killed_while_writing)
{
	size_t files = 0, before = 0;
	bool ended = false;

	for (int n = 1; !ended; n++) {
		ended = killed_late(write_one, n);
		before = files;
		/* Before any sweep, the list already tells the truth. */
		files = whole_files();
		ck_assert(files == before || files == before + 1);
		check_clean(files);
	}
	ck_assert_uint_eq(files, before + 1);
	/* Some were killed with nothing, and some when it was done: the rename was passed. */
	ck_assert_uint_gt(files, 2);
}
END_TEST

START_TEST(killed_while_deleting)
{
	AUTO(blob) b = { 0 };
	int kept = 0, gone = 0;
	bool ended = false;

	ck_assert_int_eq(put_bytes("a", BYTES, 7, &b), 0);
	memcpy(victim, b.id, sizeof(victim));
	for (int n = 1; !ended; n++) {
		ended = killed_late(delete_one, n);
		if (whole_files() == 1) {
			kept++;
			check_clean(1);
			continue;
		}
		gone++;
		check_clean(0);
		blob_clear(&b);
		ck_assert_int_eq(put_bytes("a", BYTES, 7, &b), 0);
		memcpy(victim, b.id, sizeof(victim));
	}
	ck_assert_int_gt(kept, 5);
	ck_assert_int_gt(gone, 2);
}
END_TEST

START_TEST(sweeps_only_the_dead)
{
	AUTO(blob_write) live = BLOB_WRITE_INIT;
	struct sweep swept;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		AUTO(blob_write) w = BLOB_WRITE_INIT;

		if (blob_write_open(&w, &store, "t", "dead", &store_rules, &err) == 0 &&
		    blob_write_add(&w, "x", 1, &err) == 0)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(blob_write_open(&live, &store, "t", "live", &store_rules, &err), 0);
	ck_assert_int_eq(blob_write_add(&live, "abc", 3, &err), 0);
	/* A young one may have just been made and not locked yet. */
	ck_assert_int_eq(sweep_run(&store, clock_wall_ms(), NULL, &swept, &err), 0);
	ck_assert_int_eq(swept.leftovers, 0);
	sweep_late(&swept);
	ck_assert_int_eq(swept.leftovers, 1);
	ck_assert_int_eq(swept.usage.files, 1);
	ck_assert_int_eq(blob_write_commit(&live, NULL, &err), 0);
	sweep_late(&swept);
	ck_assert_int_eq(swept.leftovers, 0);
	ck_assert_int_eq(files_on_disk(), 2);
	check_counters();
}
END_TEST

START_TEST(stops_sweeping_when_told)
{
	volatile sig_atomic_t stop = 1;
	struct blob_rules brief = { .max_bytes = 10, .max_name = "X", .ttl_ms = 1 };
	struct sweep swept;

	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(put("a", "x", 1, &brief, NULL), 0);
	ck_assert_int_eq(sweep_run(&store, clock_wall_ms() + 2000, &stop, &swept, &err), 0);
	ck_assert_int_le(swept.expired, 1);
	stop = 0;
	ck_assert_int_eq(sweep_run(&store, clock_wall_ms() + 2000, &stop, &swept, &err), 0);
	ck_assert_int_ge(swept.expired, 4);
	ck_assert_int_eq(files_on_disk(), 0);
}
END_TEST

/* A file system of its own for this test, gone with the test's process. False where that is not
 * allowed. */
static bool small_disk(const char *options)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("small", store_path, "tmpfs", 0, options) < 0) {
		ck_assert_msg(geteuid() != 0, "mount: %s", strerror(errno));
		printf("    a full disk is not tested: that needs root\n");
		return false;
	}
	store_reopen(store_path);
	return true;
}

START_TEST(runs_out_of_space)
{
	AUTO(blob) b = { 0 };
	AUTO(blob) again = { 0 };

	if (!small_disk("size=2m"))
		return;
	ck_assert_int_eq(put_bytes("first", 600000, 1, &b), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(put_bytes("big", 4 << 20, 2, NULL), -1);
		ck_assert_int_eq(err.code, ERR_STORE_FULL);
		ck_assert_int_eq(err_info(err.code)->status, 507);
		ck_assert_int_eq(files_on_disk(), 2);
		check_counters();
	}
	/* Deleting needs no space, and then there is some. */
	ck_assert_int_eq(put_bytes("second", 1200000, 3, &again), 0);
	ck_assert_int_eq(put_bytes("third", 600000, 1, NULL), -1);
	ck_assert_int_eq(blob_delete(&store, "t", b.id, &err), 0);
	ck_assert_int_eq(put_bytes("third", 600000, 1, NULL), 0);
	ck_assert(same_bytes(again.id, 1200000, 3));
	check_counters();
}
END_TEST

/* From the first file on, nothing at all fits: not the counters, not a folder. */
START_TEST(has_no_space_from_the_start)
{
	AUTO(strbuf) full = STRBUF(1 << 20);

	if (!small_disk("size=64k"))
		return;
	for (int i = 0; i < 64 << 10; i++)
		strbuf_addch(&full, 'x');
	tool_write(below("filler"), "");
	FILE *f = fopen(below("filler"), "we");
	ck_assert_ptr_nonnull(f);
	(void)fwrite(full.buf, 1, full.len, f);
	(void)fclose(f);
	ck_assert_int_eq(put_bytes("a", 10000, 1, NULL), -1);
	ck_assert_int_eq(err.code, ERR_STORE_FULL);
	ck_assert_int_eq(unlink(below("filler")), 0);
	ck_assert_int_eq(files_on_disk(), 0);
	ck_assert_int_eq(put_bytes("a", 10000, 1, NULL), 0);
	check_counters();
}
END_TEST

START_TEST(runs_out_of_inodes)
{
	char ids[100][IDENT_UUID];
	int made = 0, failed = 0;

	if (!small_disk("size=2m,nr_inodes=100"))
		return;
	for (int i = 0; i < 100; i++) {
		AUTO(blob) b = { 0 };

		if (put_bytes("a", 10, 1, &b) == 0) {
			memcpy(ids[made++], b.id, sizeof(ids[0]));
			continue;
		}
		failed++;
		ck_assert_int_eq(err.code, ERR_STORE_FULL);
		ck_assert_int_eq(files_on_disk(), 2 * made);
		check_counters();
	}
	ck_assert_int_gt(made, 10);
	ck_assert_int_gt(failed, 10);
	ck_assert_int_eq(blob_delete(&store, "t", ids[0], &err), 0);
	ck_assert_int_eq(blob_delete(&store, "t", ids[1], &err), 0);
	ck_assert_int_eq(put_bytes("a", 10, 1, NULL), 0);
	check_counters();
}
END_TEST

#ifndef __SANITIZE_ADDRESS__
START_TEST(needs_little_memory)
{
	struct rusage before, after;

	/* Everything that is made once is there after a first file. */
	ck_assert_int_eq(put_bytes("small", 100000, 1, NULL), 0);
	getrusage(RUSAGE_SELF, &before);
	ck_assert_int_eq(put_bytes("big", 100 << 20, 2, NULL), 0);
	getrusage(RUSAGE_SELF, &after);
	ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 1024);
}
END_TEST
#endif

Suite *suite_store_crash(void)
{
	Suite *s = suite_create("store/crash");
	TCase *t = tcase_create("crash");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, store_setup, store_teardown);
	tcase_add_test(t, killed_while_writing);
	tcase_add_test(t, killed_while_deleting);
	tcase_add_test(t, sweeps_only_the_dead);
	tcase_add_test(t, stops_sweeping_when_told);
	tcase_add_test(t, runs_out_of_space);
	tcase_add_test(t, has_no_space_from_the_start);
	tcase_add_test(t, runs_out_of_inodes);
#ifndef __SANITIZE_ADDRESS__
	tcase_add_test(t, needs_little_memory);
#endif
	suite_add_tcase(s, t);
	return s;
}
