/*
 * The guest volume against the real engine: filled once, completed after a crash, refilled after a
 * prune, filled by several at once. Part of suite_engine.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "support/answer.h"
#include "support/dock.h"
#include "support/enginekit.h"
#include "support/fake_engine.h"
#include "support/tool.h"
#include "system/engine_parts.h"

#include <check.h>
#include <errno.h>
#include <string.h>

static size_t volumes_named(const char *name)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *path = xasprintf("/volumes/%s", name);

	dock_call("GET", path, NULL, &a);
	return a.status == 200;
}

static void remove_volume(const char *name)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *path = xasprintf("/volumes/%s", name);

	dock_call("DELETE", path, NULL, &a);
	ck_assert_int_eq(a.status, 204);
}

/* docker volume prune under a running service: the engine makes an empty volume of the same name by
 * itself. */
START_TEST(a_pruned_volume_is_noticed_and_filled_again)
{
	struct kit k;
	struct err err = ERR_INIT;
	char id[CONTAINER_ID], name[VOLUME_NAME];
	AUTO_CLOSE int fd = -1;

	kit_begin(&k, kit_host());
	AUTO_FREE char *dir = kit_guest_dir("pruned");
	ck_assert_int_eq(volume_guest(&k.engine, dir, dock_image(), kit_instance(), k.volume, &err),
			 0);
	remove_volume(k.volume);
	kit_create(&k, id);
	ck_assert_int_eq(container_start(&k.engine, id, &err), -1);
	ck_assert_int_eq(err.code, ERR_SANDBOX);
	ck_assert_int_eq(err.sys, ENOENT);
	ck_assert_int_eq(container_remove(&k.engine, id, &err), 0);
	ck_assert_uint_eq(volumes_named(k.volume), 1);
	ck_assert_int_eq(volume_guest(&k.engine, dir, dock_image(), kit_instance(), name, &err), 0);
	ck_assert_str_eq(name, k.volume);
	fd = kit_start(&k, id);
	ck_assert_int_eq(container_remove(&k.engine, id, &err), 0);
	remove_volume(name);
	kit_end(&k);
}
END_TEST

/* PUTs that a call made, counted by a fake in front of the real engine. */
static unsigned puts_of(const char *dir, char *out_name)
{
	static const struct fake_rule rules[] = { { .match = "PUT /archive", .act = FAKE_PASS } };
	struct fake_engine f;
	struct engine e;
	struct err err = ERR_INIT;
	unsigned hits;

	fake_start(&f, rules, 1, 0);
	ck_assert_int_eq(engine_open(&e, f.host, clock_ms() + 30000, &err), 0);
	ck_assert_msg(volume_guest(&e, dir, dock_image(), kit_instance(), out_name, &err) == 0,
		      "%s: %s", err.text, err.cause);
	engine_close(&e);
	hits = fake_hits(&f, 0);
	fake_stop(&f);
	return hits;
}

START_TEST(the_volume_is_filled_once_per_version)
{
	struct kit k;
	char first[VOLUME_NAME], again[VOLUME_NAME], other[VOLUME_NAME];

	kit_begin(&k, kit_host());
	AUTO_FREE char *one = kit_guest_dir("version one");
	AUTO_FREE char *two = kit_guest_dir("version two");
	AUTO_FREE char *extra = xasprintf("%s/drivers/more.py", one);
	ck_assert_uint_eq(puts_of(one, first), 1);
	ck_assert_uint_eq(puts_of(one, again), 0);
	ck_assert_str_eq(first, again);
	puts_of(two, other);
	ck_assert_str_ne(first, other);
	tool_write(extra, "");
	puts_of(one, again);
	ck_assert_str_ne(first, again);
	remove_volume(first), remove_volume(other), remove_volume(again);
	kit_end(&k);
}
END_TEST

/* A fill whose connection breaks in the middle of the upload's answer, or before it, leaves what
 * the next one completes. */
START_TEST(a_broken_fill_is_completed)
{
	static const struct fake_rule rules[] = {
		{ .match = "PUT /archive",
		  .act = FAKE_RAW,
		  .text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" }
	};
	struct kit k;
	struct fake_engine f;
	struct engine e;
	struct err err = ERR_INIT;
	char name[VOLUME_NAME];

	kit_begin(&k, kit_host());
	AUTO_FREE char *dir = kit_guest_dir("broken");
	fake_start(&f, rules, 1, 0);
	ck_assert_int_eq(engine_open(&e, f.host, clock_ms() + 30000, &err), 0);
	/* The engine says 200 and nothing arrived: believed only after it was read back. */
	ck_assert_int_eq(volume_guest(&e, dir, dock_image(), kit_instance(), name, &err), -1);
	kit_has(err.text, "other files");
	engine_close(&e);
	fake_stop(&f);
	ck_assert_uint_eq(puts_of(dir, name), 1);
	ck_assert_uint_eq(puts_of(dir, name), 0);
	remove_volume(name);
	kit_end(&k);
}
END_TEST

static int filler(struct engine *e, const char *dir)
{
	char name[VOLUME_NAME];

	return volume_guest(e, dir, dock_image(), kit_instance(), name, NULL);
}

START_TEST(four_may_fill_at_once)
{
	struct kit k;
	char name[VOLUME_NAME];

	kit_begin(&k, kit_host());
	AUTO_FREE char *dir = kit_guest_dir("at once");
	ck_assert(kit_at_once(4, filler, dir));
	ck_assert_uint_eq(puts_of(dir, name), 0);
	remove_volume(name);
	kit_end(&k);
}
END_TEST

START_TEST(a_guest_that_is_not_there_is_named)
{
	struct kit k;
	struct err err = ERR_INIT;
	char name[VOLUME_NAME];

	kit_begin(&k, kit_host());
	AUTO_FREE char *dir = tool_new_dir("noguest");
	ck_assert_int_eq(volume_guest(&k.engine, dir, dock_image(), kit_instance(), name, &err),
			 -1);
	kit_has(err.text, "/guest");
	ck_assert_int_eq(err.sys, ENOENT);
	kit_end(&k);
}
END_TEST

TCase *engine_volume(void)
{
	TCase *t = tcase_create("volume");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, a_pruned_volume_is_noticed_and_filled_again);
	tcase_add_test(t, the_volume_is_filled_once_per_version);
	tcase_add_test(t, a_broken_fill_is_completed);
	tcase_add_test(t, four_may_fill_at_once);
	tcase_add_test(t, a_guest_that_is_not_there_is_named);
	return t;
}
