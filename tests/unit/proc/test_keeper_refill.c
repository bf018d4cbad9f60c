/* The pool's upkeep in the keeper's tables, without an engine: what is made, and what is replaced.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "limits.h"
#include "unit/proc/pool_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

START_TEST(the_pool_is_filled_a_few_at_a_time)
{
	pool_conf.pool_size = 5;
	pool_timers(pool_k, clock_ms(), INT64_MAX);
	ck_assert_int_eq(pool_fillers(FILLER_MAKE), LIMIT_REFILLS);
	ck_assert_int_eq(pool_count(BOX_WARMING), LIMIT_REFILLS);
	ck_assert(pool_k->fillers[0].task.warm);
	pool_timers(pool_k, clock_ms(), INT64_MAX);
	ck_assert_int_eq(pool_fillers(FILLER_MAKE), LIMIT_REFILLS);
	ck_assert_int_eq(box_count(pool_k), 0);
	/* Its label holds for the longest job at the end of its age. */
	ck_assert_int_ge(pool_k->fillers[0].task.deadline_wall_s,
			 clock_wall_ms() / 1000 + pool_conf.pool_max_age_s +
				 pool_conf.max_timeout_ms / 1000);
}
END_TEST

START_TEST(no_more_than_were_asked_for)
{
	pool_conf.pool_size = 3;
	pool_add_warm();
	pool_add_warm();
	pool_timers(pool_k, clock_ms(), INT64_MAX);
	ck_assert_int_eq(pool_fillers(FILLER_MAKE), 1);
}
END_TEST

static void drains(void)
{
	pool_k->draining = true;
}
static void is_not_ready(void)
{
	pool_k->volume[0] = '\0';
}
static void knows_nothing_yet(void)
{
	pool_k->adopted = false;
}
static void has_no_pool(void)
{
	pool_conf.pool_size = 0;
}
static void has_all_fillers_busy(void)
{
	for (size_t i = 0; i < KEEPER_MAKES; i++)
		pool_k->fillers[i] = (struct keeper_filler){ .used = true,
							     .sock = -1,
							     .task = { .kind = FILLER_MAKE } };
}
static void has_failed_just_now(void)
{
	struct err err = ERR_INIT;
	err_set(&err, ERR_IMAGE, "no");
	pool_made_none(pool_k, &err);
}
static void (*const reasons[])(void) = { drains,      is_not_ready,	    knows_nothing_yet,
					 has_no_pool, has_all_fillers_busy, has_failed_just_now };

START_TEST(no_refill_while_it)
{
	reasons[_i]();
	pool_timers(pool_k, clock_ms(), INT64_MAX);
	ck_assert_int_eq(pool_count(BOX_WARMING), 0);
}
END_TEST

START_TEST(failures_wait_longer_each_time)
{
	struct err err = ERR_INIT;
	int64_t last = 0;
	err_set(&err, ERR_IMAGE, "no");
	for (int i = 0; i < 12; i++) {
		pool_made_none(pool_k, &err);
		int64_t now = clock_ms(), wait = pool_k->pool.next_ms - now;
		ck_assert_int_ge(wait, MIN(last, LIMIT_REFILL_PAUSE_MS - 100) - 50);
		ck_assert_int_le(wait, LIMIT_REFILL_PAUSE_MS);
		ck_assert_int_eq(pool_timers(pool_k, now, INT64_MAX), pool_k->pool.next_ms);
		last = wait;
	}
	ck_assert_int_ge(last, LIMIT_REFILL_PAUSE_MS - 100);
	/* An engine that has the same volume again, and no more. */
	pool_learn(pool_k);
	ck_assert_int_gt(pool_k->pool.next_ms, clock_ms());
}
END_TEST

/* The volume with the guest may be gone: the first failure has it looked at, the next ones don't.
 */
START_TEST(a_failure_has_the_volume_looked_at_once)
{
	struct err err = ERR_INIT;
	err_set(&err, ERR_SANDBOX, "no");
	pool_made_none(pool_k, &err);
	ck_assert_int_eq(pool_k->volume[0], '\0');
	snprintf(pool_k->volume, sizeof(pool_k->volume), "v");
	pool_learn(pool_k);
	pool_made_none(pool_k, &err);
	ck_assert_int_eq(pool_k->volume[0], 'v');
}
END_TEST

/* An engine that removes nothing. */
START_TEST(what_stays_bounds_the_refill)
{
	pool_conf.pool_size = 2;
	for (int i = 0; i < 3; i++)
		box_doom(pool_k, pool_add_warm());
	pool_timers(pool_k, clock_ms(), INT64_MAX);
	ck_assert_int_eq(pool_count(BOX_WARMING), 2);
	ck_assert_int_eq(pool_count(BOX_DOOMED), 3);
	for (size_t i = 0; i < pool_k->boxes_top; i++)
		if (pool_k->boxes[i].state == BOX_WARMING) {
			memcpy(pool_k->boxes[i].id, "abc", 4);
			pool_made(pool_k, &pool_k->boxes[i], -1);
		}
	pool_drain(pool_k);
	pool_timers(pool_k, clock_ms(), INT64_MAX);
	ck_assert_int_eq(pool_count(BOX_WARMING), 0);
}
END_TEST

/* What the engine does for the pool would slow down the job that has just begun. */
START_TEST(a_fresh_job_goes_before_the_refill)
{
	int64_t now = clock_ms();
	pool_conf.pool_size = 4;
	struct box *warm[3] = { pool_add_warm(), pool_add_warm(), pool_add_warm() };
	pool_k->calm_until_ms = now + LIMIT_CALM_MS;
	ck_assert_int_eq(pool_timers(pool_k, now, INT64_MAX), pool_k->calm_until_ms);
	ck_assert_int_eq(pool_count(BOX_WARMING), 0);
	/* With less than half of the pool left it is the next job that counts. */
	box_doom(pool_k, warm[0]);
	box_doom(pool_k, warm[1]);
	pool_timers(pool_k, now, INT64_MAX);
	ck_assert_int_eq(pool_count(BOX_WARMING), LIMIT_REFILLS);
}
END_TEST

START_TEST(a_refill_waits_for_the_calm_only)
{
	int end;
	int64_t now = clock_ms();
	pool_conf.pool_size = 2;
	pool_add_warm();
	pool_k->calm_until_ms = now + LIMIT_CALM_MS;
	pool_timers(pool_k, now, INT64_MAX);
	ck_assert_int_eq(pool_count(BOX_WARMING), 0);
	if (_i == 0)
		now = pool_k->calm_until_ms;
	else if (_i == 1)
		pool_queue("t", pool_usual(), &end);
	else
		for (int i = 0; i <= pool_conf.jobs / 2; i++)
			pool_add(BOX_LEASED, NULL)->next_ms = INT64_MAX;
	pool_timers(pool_k, now, INT64_MAX);
	ck_assert_int_eq(pool_count(BOX_WARMING), 1);
}
END_TEST

START_TEST(a_removal_is_put_off_but_not_long)
{
	int64_t now = clock_ms();
	struct box *b = pool_add_warm();
	box_doom(pool_k, b);
	pool_k->calm_until_ms = now + LIMIT_CALM_MS;
	ck_assert_int_eq(box_timers(pool_k, now, INT64_MAX), pool_k->calm_until_ms);
	ck_assert(!b->removing);
	now += LIMIT_LINGER_MS + 1;
	pool_k->calm_until_ms = now + LIMIT_CALM_MS;
	box_timers(pool_k, now, INT64_MAX);
	ck_assert(b->removing);
}
END_TEST

START_TEST(the_old_stay_until_the_young_are_there)
{
	pool_conf.pool_size = 2;
	struct box *old = pool_add_warm(), *older = pool_add_warm();
	int64_t now = clock_ms();
	old->born_ms = now - pool_conf.pool_max_age_s * 1000;
	older->born_ms = old->born_ms - 5;
	pool_timers(pool_k, now, INT64_MAX);
	ck_assert_int_eq(pool_count(BOX_WARM), 2);
	ck_assert_int_eq(pool_count(BOX_WARMING), 2);
	pool_add_warm();
	pool_timers(pool_k, now, INT64_MAX);
	ck_assert_int_eq(older->state, BOX_DOOMED);
	ck_assert_int_eq(old->state, BOX_WARM);
	/* With nothing to take its place it goes at last. */
	pool_k->draining = true;
	pool_timers(pool_k, now + LIMIT_OLD_MS, INT64_MAX);
	ck_assert_int_eq(old->state, BOX_DOOMED);
}
END_TEST

START_TEST(age_is_looked_at_in_time)
{
	pool_conf.pool_size = 1;
	struct box *b = pool_add_warm();
	ck_assert_int_eq(pool_timers(pool_k, clock_ms(), INT64_MAX),
			 b->born_ms + pool_conf.pool_max_age_s * 1000);
	ck_assert_int_eq(pool_count(BOX_WARMING), 0);
}
END_TEST

START_TEST(a_smaller_pool_is_emptied_and_a_larger_filled)
{
	for (int i = 0; i < 4; i++)
		pool_add_warm();
	pool_conf.pool_size = 1;
	pool_timers(pool_k, clock_ms(), INT64_MAX);
	ck_assert_int_eq(pool_count(BOX_WARM), 1);
	ck_assert_int_eq(pool_count(BOX_DOOMED), 3);
	ck_assert_int_eq(box_count(pool_k), 0);
	pool_conf.pool_size = 2;
	pool_timers(pool_k, clock_ms(), INT64_MAX);
	ck_assert_int_eq(pool_count(BOX_WARMING), 1);
}
END_TEST

static void change_image(void)
{
	pool_conf.python_image[0] = 'x';
}
static void change_memory(void)
{
	pool_conf.memory_mb += 10;
}
static void change_modules(void)
{
	free(pool_conf.python_preimport);
	pool_conf.python_preimport = xstrdup("json");
}
static void change_volume(void)
{
	pool_k->volume[0] = 'w';
}
static void (*const changes[])(void) = { change_image, change_memory, change_modules,
					 change_volume };

START_TEST(other_settings_replace_all)
{
	int end;
	pool_conf.pool_size = 2;
	struct box *warm = pool_add_warm(), *warming = pool_add(BOX_WARMING, NULL);
	changes[_i]();
	pool_learn(pool_k);
	ck_assert(!pool_serve(pool_k, pool_queue("t", warm->limits, &end)));
	pool_timers(pool_k, clock_ms(), INT64_MAX);
	ck_assert_int_eq(warm->state, BOX_DOOMED);
	ck_assert_int_eq(pool_fillers(FILLER_MAKE), 2);
	pool_made(pool_k, warming, -1);
	ck_assert_int_eq(warming->state, BOX_DOOMED);
}
END_TEST

START_TEST(the_same_settings_replace_none)
{
	pool_conf.pool_size = 1;
	pool_add_warm();
	pool_learn(pool_k);
	pool_timers(pool_k, clock_ms(), INT64_MAX);
	ck_assert_int_eq(pool_count(BOX_WARM), 1);
}
END_TEST

START_TEST(a_stop_empties_the_pool)
{
	int inside;
	struct box *b = pool_add(BOX_WARM, &inside), *late = pool_add(BOX_WARMING, NULL);
	char byte;
	pool_drain(pool_k);
	pool_k->draining = true;
	ck_assert_int_eq(b->state, BOX_DOOMED);
	ck_assert_int_eq(recv(inside, &byte, 1, MSG_DONTWAIT), 0);
	pool_made(pool_k, late, -1);
	ck_assert_int_eq(late->state, BOX_DOOMED);
}
END_TEST

Suite *suite_proc_keeper_refill(void)
{
	Suite *s = suite_create("proc_keeper_refill");
	TCase *tc = tcase_create("refill");
	tcase_add_checked_fixture(tc, pool_open, pool_close);
	tcase_add_test(tc, the_pool_is_filled_a_few_at_a_time);
	tcase_add_test(tc, no_more_than_were_asked_for);
	tcase_add_loop_test(tc, no_refill_while_it, 0, (int)ARRAY_SIZE(reasons));
	tcase_add_test(tc, failures_wait_longer_each_time);
	tcase_add_test(tc, a_failure_has_the_volume_looked_at_once);
	tcase_add_test(tc, what_stays_bounds_the_refill);
	tcase_add_test(tc, a_fresh_job_goes_before_the_refill);
	tcase_add_loop_test(tc, a_refill_waits_for_the_calm_only, 0, 3);
	tcase_add_test(tc, a_removal_is_put_off_but_not_long);
	tcase_add_test(tc, the_old_stay_until_the_young_are_there);
	tcase_add_test(tc, age_is_looked_at_in_time);
	tcase_add_test(tc, a_smaller_pool_is_emptied_and_a_larger_filled);
	tcase_add_loop_test(tc, other_settings_replace_all, 0, (int)ARRAY_SIZE(changes));
	tcase_add_test(tc, the_same_settings_replace_none);
	tcase_add_test(tc, a_stop_empties_the_pool);
	suite_add_tcase(s, tc);
	return s;
}
