/*
 * src/docker against the real engine: the life of a container, the recipe as the engine understood
 * it and as a program inside sees it, the guest volume, events, status. What the real one won't do
 * on demand is in test_engine_faults.c.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "docker/image.h"
#include "docker/info.h"
#include "suites.h"
#include "support/dock.h"
#include "support/enginekit.h"
#include "support/fake_engine.h"
#include "support/tool.h"
#include "system/engine_parts.h"
#include "wire/json.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAY(fd, text)                                                                              \
	ck_assert_int_eq(io_write_all(fd, text, strlen(text), clock_ms() + 5000, NULL), 0)

/* One container from create to its own end: with StdinOnce our half-close ends its input and loses
 * no output (trap 7). */
static void live(const char *host)
{
	struct kit k;
	struct err err = ERR_INIT;
	struct container_state state;
	AUTO_CLOSE int fd = -1;
	char id[CONTAINER_ID];

	kit_begin(&k, host);
	fd = kit_start(&k, id);
	ck_assert_int_eq(container_inspect(&k.engine, id, &state, &err), 0);
	ck_assert(state.running);
	ck_assert_str_eq(state.status, "running");
	SAY(fd, "echo\nsome words\n");
	ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
	AUTO_FREE char *text = kit_read(fd, NULL);
	ck_assert_str_eq(text, "some words\n");
	ck_assert_int_eq(container_remove(&k.engine, id, &err), 0);
	ck_assert(!kit_exists(id));
	kit_end(&k);
}

START_TEST(a_container_lives_and_ends)
{
	live(kit_host());
}
END_TEST

START_TEST(the_same_over_tcp)
{
	struct fake_engine f;

	fake_start(&f, NULL, 0, 1);
	live(f.host);
	fake_stop(&f);
}
END_TEST

static bool has_exited(void *arg)
{
	struct json_object *inspect = dock_inspect(arg);
	struct json_object *state = json_object_object_get(inspect, "State");
	bool running = json_object_get_boolean(json_object_object_get(state, "Running"));

	json_object_put(inspect);
	return !running;
}

START_TEST(exit_code_and_state_are_read)
{
	struct kit k;
	struct err err = ERR_INIT;
	struct container_state state;
	AUTO_CLOSE int fd = -1;
	char id[CONTAINER_ID];

	kit_begin(&k, kit_host());
	fd = kit_start(&k, id);
	SAY(fd, "exit7\n");
	ck_assert(tool_until(has_exited, id, TOOL_WAIT_MS));
	ck_assert_int_eq(container_inspect(&k.engine, id, &state, &err), 0);
	ck_assert(!state.running && !state.oom_killed);
	ck_assert_int_eq(state.exit_code, 7);
	ck_assert_str_eq(state.status, "exited");
	ck_assert_int_eq(container_remove(&k.engine, id, &err), 0);
	ck_assert_int_eq(container_inspect(&k.engine, id, &state, &err), -1);
	ck_assert_int_eq(err.code, ERR_NOT_FOUND);
	kit_end(&k);
}
END_TEST

START_TEST(start_kill_and_remove_can_be_repeated)
{
	struct kit k;
	struct err err = ERR_INIT;
	AUTO_CLOSE int fd = -1;
	char id[CONTAINER_ID];

	kit_begin(&k, kit_host());
	fd = kit_start(&k, id);
	ck_assert_int_eq(container_start(&k.engine, id, &err), 0); /* 304 */
	ck_assert_int_eq(container_kill(&k.engine, id, &err), 0);
	ck_assert(tool_until(has_exited, id, TOOL_WAIT_MS));
	ck_assert_int_eq(container_kill(&k.engine, id, &err), 0); /* 409 */
	ck_assert_int_eq(container_remove(&k.engine, id, &err), 0);
	ck_assert_int_eq(container_remove(&k.engine, id, &err), 0); /* 404 */
	ck_assert_int_eq(container_kill(&k.engine, id, &err), 0);
	kit_end(&k);
}
END_TEST

static int remover(struct engine *e, const char *id)
{
	return container_remove(e, id, NULL);
}

START_TEST(three_may_remove_at_once)
{
	struct kit k;
	AUTO_CLOSE int fd = -1;
	char id[CONTAINER_ID];

	kit_begin(&k, kit_host());
	fd = kit_start(&k, id);
	ck_assert(kit_at_once(3, remover, id));
	ck_assert(!kit_exists(id));
	kit_end(&k);
}
END_TEST

START_TEST(list_shows_ours_and_no_others)
{
	AUTO_FREE char *other = xasprintf("%s2", kit_instance()); /* ours is its beginning */
	AUTO_FREE struct container_row *rows = NULL;
	struct kit k;
	struct err err = ERR_INIT;
	char id[CONTAINER_ID], foreign[CONTAINER_ID];
	size_t count, found = 0;

	kit_begin(&k, kit_host());
	kit_create(&k, id);
	k.recipe.instance = other;
	kit_create(&k, foreign);
	ck_assert_int_eq(container_list(&k.engine, kit_instance(), &rows, &count, &err), 0);
	for (size_t i = 0; i < count; i++) {
		ck_assert_str_ne(rows[i].id, foreign);
		if (strcmp(rows[i].id, id))
			continue;
		found++;
		ck_assert_str_eq(rows[i].role, "job");
		ck_assert_int_eq(rows[i].deadline_wall_s, k.recipe.deadline_wall_s);
	}
	ck_assert_uint_eq(found, 1);
	ck_assert_int_eq(container_remove(&k.engine, id, &err), 0);
	ck_assert_int_eq(container_remove(&k.engine, foreign, &err), 0);
	kit_end(&k);
}
END_TEST

/* Every member of `asked` is put wrong, one after the other, in the part of the inspect answer
 * where it should be. */
static void spoil_each(struct kit *k, struct json_object *asked, struct json_object *inspect,
		       const char *part)
{
	json_object_object_foreach(asked, name, value)
	{
		bool real = !strcmp(name, "Mounts"); /* the engine's own list is what counts */
		struct json_object *where = real ? inspect : json_object_object_get(inspect, part),
				   *old;
		struct err err = ERR_INIT;

		(void)value;
		if (!strcmp(name, "HostConfig"))
			continue;
		old = json_object_get(json_object_object_get(where, name));
		json_object_object_add(where, name, json_object_new_string("spoilt"));
		ck_assert_msg(recipe_verify(&k->recipe, inspect, &err) < 0, "%s/%s is not compared",
			      part, name);
		ck_assert_int_eq(err.code, ERR_SANDBOX);
		ck_assert_ptr_nonnull(strstr(err.text, name));
		json_object_object_add(where, name, old);
	}
}

START_TEST(inspect_equals_the_recipe_in_every_field)
{
	struct kit k;
	struct err err = ERR_INIT;
	char id[CONTAINER_ID];

	kit_begin(&k, kit_host());
	kit_create(&k, id);
	AUTO_JSON *body = recipe_body(&k.recipe);
	AUTO_JSON *inspect = dock_inspect(id);
	ck_assert_ptr_nonnull(inspect);
	ck_assert_msg(recipe_verify(&k.recipe, inspect, &err) == 0, "%s: %s", err.text, err.cause);
	spoil_each(&k, body, inspect, "Config");
	spoil_each(&k, json_object_object_get(body, "HostConfig"), inspect, "HostConfig");
	ck_assert_int_eq(recipe_verify(&k.recipe, inspect, &err), 0);
	k.recipe.limits.pids++;
	ck_assert_int_eq(recipe_verify(&k.recipe, inspect, &err), -1);
	ck_assert_int_eq(recipe_check(&k.recipe, "cpu,pids", inspect, &err),
			 -1); /* the spec label still differs */
	k.recipe.limits.pids--;
	ck_assert_int_eq(container_remove(&k.engine, id, &err), 0);
	kit_end(&k);
}
END_TEST

static const char *const facts[] = {
	"uid=65532",
	"gid=65532",
	"CapEff:\t0000000000000000",
	"CapPrm:\t0000000000000000",
	"CapInh:\t0000000000000000",
	"CapBnd:\t0000000000000000",
	"CapAmb:\t0000000000000000",
	"NoNewPrivs:\t1",
	"Seccomp:\t2",
	"LANG=C.UTF-8",
	"TZ=UTC",
	"HOME=/tmp",
	"\nbelljar\n",
	"kernel/shm_rmid_forced=1",
	"kernel/msgmni=0",
	"fs/mqueue/queues_max=0",
	"writable=/workspace\n",
	"writable=/tmp\n",
	"writable=/dev/shm\n",
	"oom-counter",
	"nofile=1024 core=0 oom=500",
	"nr_inodes=16384",
	"size=65536k",
	" lo:",
};
static const char *const no_facts[] = {
	"writable=/\n",
	"writable=/etc",
	"writable=/root",
	"writable=/var",
	"writable=/run",
	"writable=/dev\n",
	"writable=/dev/mqueue",
	"writable=/belljar",
	"writable=/sys",
	"writable=/proc",
	"eth0:",
	"docker.sock",
};

START_TEST(a_program_inside_sees_the_recipe)
{
	struct kit k;
	AUTO_CLOSE int fd = -1;
	char id[CONTAINER_ID];

	kit_begin(&k, kit_host());
	fd = kit_start(&k, id);
	SAY(fd, "facts\n");
	AUTO_FREE char *text = kit_read(fd, "DONE\n");
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		kit_has(text, facts[i]);
	for (size_t i = 0; i < ARRAY_SIZE(no_facts); i++)
		kit_has_not(text, no_facts[i]);
	ck_assert_int_eq(container_remove(&k.engine, id, NULL), 0);
	kit_end(&k);
}
END_TEST

START_TEST(what_cannot_be_made_says_why)
{
	struct kit k;
	struct err err = ERR_INIT;
	char id[CONTAINER_ID];

	kit_begin(&k, kit_host());
	k.recipe.image = "belljar-test-no-such-image";
	ck_assert_int_eq(container_create(&k.engine, &k.recipe, "", id, &err), -1);
	ck_assert_int_eq(err.code, ERR_IMAGE);
	kit_has(err.text, "Image belljar-test-no-such-image is not present");
	k.recipe.image = dock_image();
	k.recipe.limits.cpu_milli = 4000000;
	ck_assert_int_eq(container_create(&k.engine, &k.recipe, "", id, &err), -1);
	ck_assert_int_eq(err.code, ERR_SANDBOX);
	kit_has(err.text, "fewer CPUs");
	ck_assert_int_eq(container_attach(&k.engine, "../../images/x", &err), -1);
	ck_assert_int_eq(err.code, ERR_INTERNAL);
	kit_end(&k);
}
END_TEST

START_TEST(image_is_described)
{
	struct kit k;
	struct image image;
	struct err err = ERR_INIT;

	kit_begin(&k, kit_host());
	ck_assert_int_eq(image_inspect(&k.engine, dock_image(), &image, &err), 0);
	ck_assert_int_gt(image.size_bytes, 1 << 20);
	kit_has(image.id, "sha256:");
	ck_assert(*image.created && *image.version);
	ck_assert_int_eq(image_inspect(&k.engine, "belljar-test-no-such-image", &image, &err), -1);
	ck_assert_int_eq(err.code, ERR_IMAGE);
	kit_has(err.text, "make images");
	ck_assert_int_eq(image_inspect(&k.engine, "../containers/x", &image, &err), -1);
	kit_end(&k);
}
END_TEST

START_TEST(status_of_a_sound_engine)
{
	struct lease_status s;

	info_status(kit_host(), dock_image(), "swap", clock_ms() + 10000, &s);
	ck_assert_str_eq(s.problem, "");
	ck_assert_str_eq(s.fix, "");
	ck_assert(s.installed && s.running && s.image_exists && s.limits_ok);
	ck_assert(*s.engine_version && *s.os && *s.oci_runtime);
	ck_assert(!strcmp(s.cgroup, "v1") || !strcmp(s.cgroup, "v2"));
	ck_assert(lease_status_ok(&s));
	info_status(kit_host(), "belljar-test-no-such-image", "", clock_ms() + 10000, &s);
	kit_has(s.problem, "not available locally");
	kit_has(s.fix, "make images");
	ck_assert(s.running && !s.image_exists);
}
END_TEST

Suite *suite_engine(void)
{
	Suite *s = suite_create("engine");
	TCase *life = tcase_create("life");

	tcase_set_timeout(life, 120);
	tcase_add_test(life, a_container_lives_and_ends);
	tcase_add_test(life, the_same_over_tcp);
	tcase_add_test(life, exit_code_and_state_are_read);
	tcase_add_test(life, start_kill_and_remove_can_be_repeated);
	tcase_add_test(life, three_may_remove_at_once);
	tcase_add_test(life, list_shows_ours_and_no_others);
	tcase_add_test(life, inspect_equals_the_recipe_in_every_field);
	tcase_add_test(life, a_program_inside_sees_the_recipe);
	tcase_add_test(life, what_cannot_be_made_says_why);
	tcase_add_test(life, image_is_described);
	tcase_add_test(life, status_of_a_sound_engine);
	suite_add_tcase(s, life);
	suite_add_tcase(s, engine_volume());
	suite_add_tcase(s, engine_faults());
	suite_add_tcase(s, engine_trouble());
	suite_add_tcase(s, engine_streams());
	return s;
}
