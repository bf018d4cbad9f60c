/* The pool in the keeper's tables, without an engine: who is given what. */
#include "base/clock.h"
#include "base/err.h"
#include "unit/proc/pool_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <sys/socket.h>
#include <unistd.h>

START_TEST(a_warm_one_is_given_without_a_filler)
{
	int end, inside;
	AUTO_CLOSE int stream = -1;
	struct box *b = pool_add(BOX_WARM, &inside);
	struct keeper_client *client = pool_queue("t", pool_usual(), &end);
	ck_assert_int_eq(box_count(pool_k), 0);
	ck_assert(pool_serve(pool_k, client));
	const struct lease_grant grant = pool_granted(end, &stream);
	ck_assert_uint_eq(grant.code, ERR_NONE);
	ck_assert_uint_eq(grant.warm, 1);
	ck_assert_str_eq(grant.id, b->id);
	ck_assert_int_eq(b->state, BOX_LEASED);
	ck_assert_int_eq(b->stream, -1);
	ck_assert_int_eq(box_count(pool_k), 1);
	ck_assert_int_eq(pool_fillers(FILLER_MAKE) + pool_fillers(FILLER_UPDATE), 0);
	/* The worker's copy is the last: when it closes, the guest sees the end. */
	char byte;
	close(stream);
	stream = -1;
	ck_assert_int_eq(recv(inside, &byte, 1, MSG_DONTWAIT), 0);
	/* It has had its job. */
	client_close(pool_k, client);
	ck_assert_int_eq(b->state, BOX_DOOMED);
	ck_assert_int_eq(box_count(pool_k), 1);
}
END_TEST

START_TEST(the_dead_and_the_talking_are_not_given)
{
	int end, first, second;
	AUTO_CLOSE int stream = -1;
	struct box *dead = pool_add(BOX_WARM, &first), *talks = pool_add(BOX_WARM, &second);
	struct box *good = pool_add_warm();
	close(first);
	ck_assert_int_eq(write(second, "x", 1), 1);
	ck_assert(pool_serve(pool_k, pool_queue("t", pool_usual(), &end)));
	ck_assert_str_eq(pool_granted(end, &stream).id, good->id);
	ck_assert_int_eq(dead->state, BOX_DOOMED);
	ck_assert_int_eq(talks->state, BOX_DOOMED);
	ck_assert_int_eq(box_count(pool_k), 1);
}
END_TEST

START_TEST(an_empty_pool_serves_nobody)
{
	int end;
	ck_assert(!pool_serve(pool_k, pool_queue("t", pool_usual(), &end)));
}
END_TEST

/* What an update cannot change. */
START_TEST(other_file_systems_are_made)
{
	struct lease_limits other[] = { pool_usual(), pool_usual(), pool_usual() };
	int end;
	pool_add_warm();
	other[0].disk_mb--;
	other[1].tmp_mb--;
	other[2].memory_mb = other[2].disk_mb + other[2].tmp_mb + 2; /* a smaller /dev/shm */
	ck_assert(!pool_serve(pool_k, pool_queue("t", other[_i], &end)));
	ck_assert_int_eq(pool_count(BOX_WARM), 1);
}
END_TEST

START_TEST(other_limits_are_set_first)
{
	struct lease_limits other[] = { pool_usual(), pool_usual(), pool_usual() };
	int end;
	other[0].memory_mb += 100;
	other[1].cpu_milli /= 2;
	other[2].pids++;
	struct box *b = pool_add_warm();
	struct keeper_client *client = pool_queue("t", other[_i], &end);
	ck_assert(pool_serve(pool_k, client));
	ck_assert_int_eq(b->state, BOX_MAKING);
	ck_assert_ptr_eq(b->client, client);
	ck_assert_int_eq(box_count(pool_k), 1);
	ck_assert_int_eq(pool_fillers(FILLER_UPDATE), 1);
	const struct filler_task *task = &pool_k->fillers[0].task;
	ck_assert_mem_eq(&task->limits, &other[_i], sizeof(task->limits));
	ck_assert_mem_eq(&task->born, &b->limits, sizeof(task->born));
	/* In force: it is given. */
	AUTO_CLOSE int stream = -1;
	const struct err none = ERR_INIT;
	pool_changed(pool_k, b, &none);
	ck_assert_uint_eq(pool_granted(end, &stream).warm, 1);
	ck_assert_int_eq(b->state, BOX_LEASED);
}
END_TEST

START_TEST(a_change_that_fails_costs_the_container_not_the_job)
{
	struct lease_limits other = pool_usual();
	struct err err = ERR_INIT;
	int end;
	other.pids++;
	struct box *b = pool_add_warm();
	struct keeper_client *client = pool_queue("t", other, &end);
	ck_assert(pool_serve(pool_k, client));
	pool_add_warm();
	err_set(&err, ERR_SANDBOX, "no");
	pool_changed(pool_k, b, &err);
	ck_assert_int_eq(b->state, BOX_DOOMED);
	ck_assert_int_eq(client->state, CLIENT_QUEUED);
	ck_assert_ptr_eq(admit_next(pool_k), client);
	/* Not once more. */
	ck_assert(!pool_serve(pool_k, client));
	ck_assert_int_eq(pool_count(BOX_WARM), 1);
}
END_TEST

/* The container died while its limits were changed. */
START_TEST(a_changed_one_that_died_is_not_given)
{
	struct lease_limits other = pool_usual();
	const struct err none = ERR_INIT;
	int end, inside;
	other.pids++;
	struct box *b = pool_add(BOX_WARM, &inside);
	struct keeper_client *client = pool_queue("t", other, &end);
	ck_assert(pool_serve(pool_k, client));
	shutdown(inside, SHUT_RDWR); /* the filler may not have closed its copy yet */
	pool_changed(pool_k, b, &none);
	ck_assert_int_eq(b->state, BOX_DOOMED);
	ck_assert_int_eq(client->state, CLIENT_QUEUED);
}
END_TEST

START_TEST(a_client_that_leaves_during_a_change_leaves_no_container)
{
	struct lease_limits other = pool_usual();
	const struct err none = ERR_INIT;
	int end;
	other.pids++;
	struct box *b = pool_add_warm();
	struct keeper_client *client = pool_queue("t", other, &end);
	ck_assert(pool_serve(pool_k, client));
	client_close(pool_k, client);
	ck_assert_int_eq(b->state, BOX_MAKING);
	pool_changed(pool_k, b, &none);
	ck_assert_int_eq(b->state, BOX_DOOMED);
}
END_TEST

START_TEST(one_in_the_making_is_promised_once)
{
	int first, second;
	struct box *b = pool_add(BOX_WARMING, NULL);
	struct keeper_client *client = pool_queue("t", pool_usual(), &first);
	ck_assert_int_eq(box_count(pool_k), 0);
	ck_assert(pool_serve(pool_k, client));
	ck_assert_int_eq(b->state, BOX_MAKING);
	ck_assert_ptr_eq(b->client, client);
	ck_assert_int_eq(box_count(pool_k), 1);
	ck_assert(!pool_serve(pool_k, pool_queue("t", pool_usual(), &second)));
}
END_TEST

/* After a warm one that was dead a job asks for one that has not waited. */
START_TEST(who_wants_no_warm_one_gets_none)
{
	int end;
	struct keeper_client *client = pool_queue("t", pool_usual(), &end);
	pool_add_warm();
	client->ask.made = 1;
	ck_assert(!pool_serve(pool_k, client));
	ck_assert_int_eq(pool_count(BOX_WARM), 1);
}
END_TEST

Suite *suite_proc_keeper_pool(void)
{
	Suite *s = suite_create("proc_keeper_pool");
	TCase *tc = tcase_create("pool");
	tcase_add_checked_fixture(tc, pool_open, pool_close);
	tcase_add_test(tc, a_warm_one_is_given_without_a_filler);
	tcase_add_test(tc, the_dead_and_the_talking_are_not_given);
	tcase_add_test(tc, an_empty_pool_serves_nobody);
	tcase_add_loop_test(tc, other_file_systems_are_made, 0, 3);
	tcase_add_loop_test(tc, other_limits_are_set_first, 0, 3);
	tcase_add_test(tc, a_change_that_fails_costs_the_container_not_the_job);
	tcase_add_test(tc, a_changed_one_that_died_is_not_given);
	tcase_add_test(tc, a_client_that_leaves_during_a_change_leaves_no_container);
	tcase_add_test(tc, one_in_the_making_is_promised_once);
	tcase_add_test(tc, who_wants_no_warm_one_gets_none);
	suite_add_tcase(s, tc);
	return s;
}
