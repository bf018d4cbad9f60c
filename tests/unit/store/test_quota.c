/* Limits of what is stored, and that no number of processes at once gets past them. */
#include "base/clock.h"
#include "base/err.h"
#include "support/tool.h"
#include "unit/store/store_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(bounds_bytes)
{
	char id[IDENT_UUID];

	store.limits = (struct store_limits){ .tenant_bytes = 100 };
	put_text("a", "0123456789012345678901234567890123456789012345678901234567890123456789", id);
	/* 30 are left, and all of them can be used. */
	ck_assert_int_eq(put("b", "0123456789012345678901234567890", 31, &store_rules, NULL), -1);
	ck_assert_int_eq(err.code, ERR_STORE_FULL);
	ck_assert_msg(
		strstr(err.text,
		       "caller's file store is full: its quota allows 100 bytes and 70 are in use"),
		"%s", err.text);
	ck_assert_int_eq(put("b", "012345678901234567890123456789", 30, &store_rules, NULL), 0);
	ck_assert_int_eq(put("c", "0", 1, &store_rules, NULL), -1);
	/* Nothing is still a file. */
	ck_assert_int_eq(put("c", "", 0, &store_rules, NULL), 0);
	check_counters();
	ck_assert_int_eq(blob_delete(&store, "t", id, &err), 0);
	ck_assert_int_eq(put("c", "0", 1, &store_rules, NULL), 0);
	check_counters();
}
END_TEST

START_TEST(bounds_the_whole_store)
{
	AUTO(blob_write) w = BLOB_WRITE_INIT;
	struct usage total, tenant;

	store.limits = (struct store_limits){ .total_bytes = 10 };
	ck_assert_int_eq(put("a", "01234", 5, &store_rules, NULL), 0);
	ck_assert_int_eq(blob_write_open(&w, &store, "other", "b", &store_rules, &err), 0);
	ck_assert_int_eq(blob_write_add(&w, "012345", 6, &err), -1);
	ck_assert_int_eq(err.code, ERR_STORE_FULL);
	ck_assert_msg(strstr(err.text,
			     "The file store is full: its quota allows 10 bytes and 5 are in use"),
		      "%s", err.text);
	blob_write_clear(&w);
	ck_assert_int_eq(blob_write_open(&w, &store, "other", "b", &store_rules, &err), 0);
	ck_assert_int_eq(blob_write_add(&w, "01234", 5, &err), 0);
	ck_assert_int_eq(blob_write_commit(&w, NULL, &err), 0);
	ck_assert_int_eq(quota_read(&store, "other", &total, &tenant, &err), 0);
	ck_assert_int_eq(total.bytes, 10);
	ck_assert_int_eq(total.files, 2);
	ck_assert_int_eq(tenant.bytes, 5);
	ck_assert_int_eq(tenant.files, 1);
}
END_TEST

START_TEST(bounds_files)
{
	char id[IDENT_UUID];

	store.limits = (struct store_limits){ .tenant_files = 2, .total_files = 2 };
	put_text("a", "", id);
	ck_assert_int_eq(put("b", "", 0, &store_rules, NULL), 0);
	ck_assert_int_eq(put("c", "", 0, &store_rules, NULL), -1);
	ck_assert_int_eq(err.code, ERR_STORE_FULL);
	ck_assert_msg(strstr(err.text, "2 files"), "%s", err.text);
	ck_assert_int_eq(blob_delete(&store, "t", id, &err), 0);
	ck_assert_int_eq(put("c", "", 0, &store_rules, NULL), 0);
	check_counters();
}
END_TEST

START_TEST(claims_while_writing)
{
	const struct blob_rules wide = { .max_bytes = 10 << 20, .max_name = "X" };
	AUTO(blob_write) w = BLOB_WRITE_INIT;
	struct usage total, tenant;

	store.limits = (struct store_limits){ .tenant_bytes = 4 * LIMIT_CLAIM_BYTES };
	ck_assert_int_eq(blob_write_open(&w, &store, "t", "a", &wide, &err), 0);
	ck_assert_int_eq(blob_write_add(&w, "x", 1, &err), 0);
	/* The first byte has taken a whole step, so another writer finds no room until this one is
	 * done. */
	ck_assert_int_eq(quota_read(&store, "t", &total, &tenant, &err), 0);
	ck_assert_int_eq(tenant.bytes, LIMIT_CLAIM_FIRST);
	check_counters();
	store.limits.tenant_bytes = LIMIT_CLAIM_FIRST;
	ck_assert_int_eq(put("b", "y", 1, &store_rules, NULL), -1);
	ck_assert_int_eq(err.code, ERR_STORE_FULL);
	ck_assert_int_eq(blob_write_commit(&w, NULL, &err), 0);
	check_counters();
	ck_assert_int_eq(put("b", "y", 1, &store_rules, NULL), 0);
	ck_assert_int_eq(content_on_disk().bytes, 2);
	check_counters();
}
END_TEST

START_TEST(counts_anew_what_it_cannot_read)
{
	static const char *const records[] = { "",
					       "x",
					       "0000000000000000 0000000000000000",
					       "ffffffffffffffff 0000000000000000\n",
					       "0000000000000000_0000000000000000\n",
					       "0000000000000000 0000000000000000\n\n" };

	ck_assert_int_eq(put("a", "01234", 5, &store_rules, NULL), 0);
	ck_assert_int_eq(unlink(below("usage")), 0);
	check_counters();
	ck_assert_int_eq(unlink(below("t/usage")), 0);
	check_counters();
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		tool_write(below("usage"), records[i]);
		tool_write(below("t/usage"), records[i]);
		check_counters();
		ck_assert_int_eq(put("a", "0", 1, &store_rules, NULL), 0);
		check_counters();
	}
}
END_TEST

START_TEST(mends_wrong_counters)
{
	struct sweep swept;

	ck_assert_int_eq(put("a", "01234", 5, &store_rules, NULL), 0);
	tool_write(below("usage"), "0000000000001000 0000000000000100\n");
	tool_write(below("t/usage"), "0000000000000001 0000000000000000\n");
	ck_assert_int_eq(sweep_run(&store, clock_wall_ms(), NULL, &swept, &err), 0);
	ck_assert_int_eq(swept.usage.bytes, 5);
	ck_assert_int_eq(swept.usage.files, 1);
	check_counters();
	/* Too low is not below nothing. */
	tool_write(below("t/usage"), "0000000000000001 0000000000000000\n");
	tool_write(below("usage"), "0000000000000001 0000000000000000\n");
	ck_assert_int_eq(put("a", "0123", 4, &store_rules, NULL), 0);
	ck_assert_int_eq(sweep_run(&store, clock_wall_ms() + 7200000, NULL, &swept, &err), 0);
	ck_assert_int_eq(swept.expired, 2);
	check_counters();
}
END_TEST

/* The end status of a child that runs fn in its own process. */
static pid_t start(void (*fn)(unsigned seed), unsigned seed)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		fn(seed);
		_exit(0);
	}
	return pid;
}

static int status_of(pid_t pid)
{
	int status = -1;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status), "status %x", (unsigned)status);
	return WEXITSTATUS(status);
}

static int gate[2];

static void put_quarter(unsigned seed)
{
	char block[25000] = "", byte;

	(void)seed;
	/* All begin at once, when the other end is closed. */
	close(gate[1]);
	if (read(gate[0], &byte, 1) != 0)
		_exit(3);
	for (;;) {
		if (put("a", block, sizeof(block),
			&(struct blob_rules){ .max_bytes = 25000, .max_name = "X" }, NULL) == 0)
			_exit(0);
		_exit(err.code == ERR_STORE_FULL ? 1 : 2);
	}
}

START_TEST(holds_in_a_race)
{
	pid_t pids[16];

	store.limits = (struct store_limits){ .tenant_bytes = 100000 };
	for (int round = 0; round < 5; round++) {
		int counts[4] = { 0 };
		AUTO(blob_list) list = { 0 };

		ck_assert_int_eq(pipe(gate), 0);
		for (unsigned i = 0; i < ARRAY_SIZE(pids); i++)
			pids[i] = start(put_quarter, i);
		close(gate[0]);
		close(gate[1]);
		for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
			counts[status_of(pids[i]) & 3]++;
		ck_assert_int_eq(counts[0], 4);
		ck_assert_int_eq(counts[1], 12);
		check_counters();
		ck_assert_int_eq(content_on_disk().bytes, 100000);
		ck_assert_int_eq(blob_list_load(&list, &store, "t", NULL, 100, &err), 0);
		ck_assert_uint_eq(list.count, 4);
		for (size_t i = 0; i < list.count; i++)
			ck_assert_int_eq(blob_delete(&store, "t", list.items[i].id, &err), 0);
	}
	ck_assert_int_eq(files_on_disk(), 0);
}
END_TEST

#define TIGHT 3000000

static unsigned next_random(unsigned *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void write_some(unsigned *random)
{
	const struct blob_rules rules = { .max_bytes = 1 << 22,
					  .max_name = "X",
					  .ttl_ms = 3600000 };
	AUTO(blob_write) w = BLOB_WRITE_INIT;
	AUTO(blob) b = { 0 };
	static char block[40000];
	unsigned pieces = next_random(random) % 20;

	if (blob_write_open(&w, &store, "t", "a", &rules, &err) < 0)
		_exit(err.code == ERR_BUSY ? 0 : 11);
	for (unsigned i = 0; i < pieces; i++) {
		if (blob_write_add(&w, block, next_random(random) % sizeof(block), &err) == 0)
			continue;
		if (err.code != ERR_STORE_FULL)
			_exit(12);
		return;
	}
	if (next_random(random) % 4 == 0)
		return; /* the client has left */
	if (blob_write_commit(&w, &b, &err) < 0)
		_exit(13);
	if (next_random(random) % 4 != 0 && blob_delete(&store, "t", b.id, &err) < 0)
		_exit(14);
}

static void churn(unsigned seed)
{
	unsigned random = seed;

	for (int i = 0; i < 60; i++)
		write_some(&random);
}

static void keep_sweeping(unsigned seed)
{
	struct sweep swept;

	(void)seed;
	for (int i = 0; i < 100; i++) {
		/* As if every folder were old: only the locks tell what is alive. */
		if (sweep_run(&store, clock_wall_ms() + LIMIT_STALE_MS + 60000, NULL, &swept,
			      &err) < 0)
			_exit(21);
		if (swept.expired || swept.damaged)
			_exit(22);
		if (swept.usage.bytes > TIGHT)
			_exit(23);
	}
}

START_TEST(holds_under_load)
{
	pid_t pids[5];

	store.limits = (struct store_limits){ .tenant_bytes = TIGHT };
	for (unsigned i = 0; i < 4; i++)
		pids[i] = start(churn, i + 1);
	pids[4] = start(keep_sweeping, 0);
	for (int i = 0; i < 30; i++) {
		struct usage total, tenant;

		ck_assert_int_eq(quota_read(&store, "t", &total, &tenant, &err), 0);
		ck_assert_int_le(tenant.bytes, TIGHT);
		tool_sleep_ms(5);
	}
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		ck_assert_int_eq(status_of(pids[i]), 0);
	check_counters();
	ck_assert_int_eq(files_on_disk(), 2 * (int)content_on_disk().files);
}
END_TEST

static void hold_lock(unsigned seed)
{
	int fd = open(below("usage"), O_RDWR);

	(void)seed;
	if (fd < 0 || flock(fd, LOCK_EX) < 0 || write(gate[1], "x", 1) != 1)
		_exit(1);
	pause();
}

START_TEST(does_not_wait_for_ever)
{
	int64_t begun;
	char byte;
	pid_t pid;

	ck_assert_int_eq(put("a", "x", 1, &store_rules, NULL), 0);
	ck_assert_int_eq(pipe(gate), 0);
	pid = start(hold_lock, 0);
	ck_assert_int_eq(read(gate[0], &byte, 1), 1);
	begun = clock_ms();
	ck_assert_int_eq(put("a", "x", 1, &store_rules, NULL), -1);
	ck_assert_int_eq(err.code, ERR_BUSY);
	ck_assert_int_ge(clock_ms() - begun, LIMIT_STORE_LOCK_MS);
	/* The lock goes with its holder, whatever ends it. */
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(put("a", "x", 1, &store_rules, NULL), 0);
	check_counters();
}
END_TEST

Suite *suite_store_quota(void)
{
	Suite *s = suite_create("store/quota");
	TCase *t = tcase_create("quota");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, store_setup, store_teardown);
	tcase_add_test(t, bounds_bytes);
	tcase_add_test(t, bounds_the_whole_store);
	tcase_add_test(t, bounds_files);
	tcase_add_test(t, claims_while_writing);
	tcase_add_test(t, counts_anew_what_it_cannot_read);
	tcase_add_test(t, mends_wrong_counters);
	tcase_add_test(t, holds_in_a_race);
	tcase_add_test(t, holds_under_load);
	tcase_add_test(t, does_not_wait_for_ever);
	suite_add_tcase(s, t);
	return s;
}
