/* The queue in the keeper's tables: whose turn it is, and how long others should stay away. */
#include "base/clock.h"
#include "base/err.h"
#include "unit/proc/pool_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <unistd.h>

/* Serves whoever is next and says whose it was. */
static const char *serve_one(void)
{
	struct keeper_client *client = admit_next(pool_k);
	if (!client)
		return "";
	admit_served(pool_k, client);
	client->state = CLIENT_SERVED;
	return client->ask.tenant;
}

START_TEST(tenants_take_turns)
{
	static const char *const come[] = { "b", "b", "b", "b", "a", "c", "a" };
	static const char *const go[] = { "a", "b", "c", "a", "b", "b", "b", "" };
	int end;
	for (size_t i = 0; i < ARRAY_SIZE(come); i++)
		pool_queue(come[i], pool_usual(), &end);
	for (size_t i = 0; i < ARRAY_SIZE(go); i++)
		ck_assert_str_eq(serve_one(), go[i]);
}
END_TEST

/* Whoever comes to a long queue of another is next but one. */
START_TEST(a_new_tenant_does_not_wait_for_all_of_another)
{
	int end;
	for (int i = 0; i < 10; i++)
		pool_queue("many", pool_usual(), &end);
	ck_assert_str_eq(serve_one(), "many");
	pool_queue("few", pool_usual(), &end);
	pool_queue("zoo", pool_usual(), &end);
	ck_assert_str_eq(serve_one(), "zoo");
	ck_assert_str_eq(serve_one(), "few");
	ck_assert_str_eq(serve_one(), "many");
}
END_TEST

START_TEST(within_a_tenant_it_is_first_come_first_served)
{
	int end;
	struct keeper_client *all[3];
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		all[i] = pool_queue("t", pool_usual(), &end);
	all[0]->order = 99;
	ck_assert_ptr_eq(admit_next(pool_k), all[1]);
}
END_TEST

START_TEST(retry_after_follows_the_jobs)
{
	pool_conf.jobs = 8;
	ck_assert_int_eq(admit_retry_s(pool_k, 16), 1); /* nothing is known */
	admit_learn(pool_k, 4000);
	ck_assert_int_eq(admit_retry_s(pool_k, 0), 4);
	ck_assert_int_eq(admit_retry_s(pool_k, 16), 12);
	ck_assert_int_eq(admit_retry_s(pool_k, 1000), 60);
	/* One job of ten minutes among short ones moves little. */
	admit_learn(pool_k, 600000);
	ck_assert_int_le(admit_retry_s(pool_k, 0), 6);
	for (int i = 0; i < 100; i++)
		admit_learn(pool_k, 20);
	ck_assert_int_eq(admit_retry_s(pool_k, 16), 1);
	for (int i = 0; i < 100; i++)
		admit_learn(pool_k, 0);
	ck_assert_int_ge(pool_k->slot_usual_ms, 1);
}
END_TEST

/* A slot is taken until the container is gone, which is what others wait for. */
START_TEST(slots_teach_how_long_jobs_take)
{
	int end;
	AUTO_CLOSE int stream = -1;
	struct box *b = pool_add_warm();
	struct keeper_client *client = pool_queue("t", pool_usual(), &end);
	ck_assert(pool_serve(pool_k, client));
	pool_granted(end, &stream);
	b->slot_ms -= 5000;
	client_close(pool_k, client);
	ck_assert_int_eq(pool_k->slot_usual_ms, 0);
	box_free(pool_k, b);
	ck_assert_int_ge(pool_k->slot_usual_ms, 5000);
	ck_assert_int_le(pool_k->slot_usual_ms, 7000);
	int64_t before = pool_k->slot_usual_ms;
	b = pool_add_warm();
	box_doom(pool_k, b);
	box_free(pool_k, b);
	ck_assert_int_eq(pool_k->slot_usual_ms, before);
}
END_TEST

Suite *suite_proc_keeper_admit(void)
{
	Suite *s = suite_create("proc_keeper_admit");
	TCase *tc = tcase_create("admission");
	tcase_add_checked_fixture(tc, pool_open, pool_close);
	tcase_add_test(tc, tenants_take_turns);
	tcase_add_test(tc, a_new_tenant_does_not_wait_for_all_of_another);
	tcase_add_test(tc, within_a_tenant_it_is_first_come_first_served);
	tcase_add_test(tc, retry_after_follows_the_jobs);
	tcase_add_test(tc, slots_teach_how_long_jobs_take);
	suite_add_tcase(s, tc);
	return s;
}
