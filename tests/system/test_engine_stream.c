/*
 * The two long conversations with an engine: the hijacked attach and the events, sound and broken.
 * Part of suite_engine.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "docker/event.h"
#include "support/enginekit.h"
#include "support/fake_engine.h"
#include "support/tool.h"
#include "system/engine_parts.h"
#include "wire/dstream.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ANSWER(status, text) "HTTP/1.1 " status " x\r\nConnection: close\r\n\r\n" text
#define SHORT_MS 400

#define UPGRADED "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"

static const struct {
	enum fake_act act;
	const char *text, *first; /* first bytes of the stream, NULL: it fails */
	enum err_code code;
	int sys;
	const char *says;
} hijack_rows[] = {
	{ FAKE_RAW_HANG, UPGRADED "stream", "stream", ERR_NONE, 0, "" },
	{ FAKE_RAW_HANG, ANSWER("200", "stream"), "stream", ERR_NONE, 0,
	  "" }, /* no Upgrade understood (trap 2) */
	{ FAKE_DRIP, UPGRADED "\r\n\r\nstream", "\r\n\r\nstream", ERR_NONE, 0, "" },
	{ FAKE_RAW, ANSWER("404", "{\"message\":\"No such container: x\"}"), NULL, ERR_NOT_FOUND, 0,
	  "No such container" },
	{ FAKE_RAW, ANSWER("409", "container x is paused\r\n"), NULL, ERR_ENGINE, 0, "is paused" },
	{ FAKE_RAW_HANG, ANSWER("500", "no length, no end"), NULL, ERR_ENGINE, 0,
	  "no length, no end" },
	{ FAKE_RAW, "Error attaching: the daemon is on fire\r\n\r\n", NULL, ERR_ENGINE, EPROTO,
	  "" },
	{ FAKE_RAW, "", NULL, ERR_ENGINE, EPROTO, "hung up" },
	{ FAKE_RAW, "HTTP/1.1 101 UPGRADED\r\nX:", NULL, ERR_ENGINE, EPROTO, "hung up" },
	{ FAKE_RAW_HANG, "", NULL, ERR_ENGINE, ETIMEDOUT, "not responding" },
	{ FAKE_RAW_HANG, "HTTP/1.1 101 UPGR", NULL, ERR_ENGINE, ETIMEDOUT, "not responding" },
	{ FAKE_FLOOD, "HTTP/1.1 101 UPGRADED\r\nX: ", NULL, ERR_ENGINE, EMSGSIZE, "does not end" },
};

START_TEST(attach_gives_the_stream_from_its_first_byte)
{
	const struct fake_rule rules[] = {
		FAKE_PING, { "POST /attach", hijack_rows[_i].act, hijack_rows[_i].text, NULL, 0, 0 }
	};
	struct fake_engine f;
	struct engine e;
	struct err err = ERR_INIT;
	char bytes[64] = "";
	AUTO_CLOSE int fd = -1;

	fake_start(&f, rules, ARRAY_SIZE(rules), 0);
	ck_assert_int_eq(engine_open(&e, f.host, clock_ms() + 10000, &err), 0);
	if (hijack_rows[_i].sys == ETIMEDOUT)
		e.deadline_ms = clock_ms() + SHORT_MS;
	fd = container_attach(&e, ID64, &err);
	if (hijack_rows[_i].first) {
		ck_assert_msg(fd >= 0, "row %d: %s: %s", _i, err.text, err.cause);
		ck_assert_int_eq(io_read_all(fd, bytes, strlen(hijack_rows[_i].first),
					     clock_ms() + 5000, &err),
				 0);
		ck_assert_str_eq(bytes, hijack_rows[_i].first);
	} else {
		ck_assert_int_eq(fd, -1);
		ck_assert_msg(err.code == hijack_rows[_i].code && err.sys == hijack_rows[_i].sys,
			      "row %d: %d %d %s: %s", _i, err.code, err.sys, err.text, err.cause);
		ck_assert_msg(strstr(err.text, hijack_rows[_i].says) ||
				      strstr(err.cause, hijack_rows[_i].says),
			      "row %d: %s: %s", _i, err.text, err.cause);
	}
	engine_close(&e);
	fake_stop(&f);
}
END_TEST

static int drop_bytes(void *arg, enum dstream_kind kind, const void *data, size_t len)
{
	(void)arg, (void)kind, (void)data, (void)len;
	return 0;
}

/* Trap 3: after a 101 the engine may still write a sentence. It is no frame, and is never taken for
 * a program's output. */
START_TEST(text_behind_the_upgrade_is_no_frame)
{
	static const struct fake_rule rules[] = {
		FAKE_PING,
		{ "POST /attach", FAKE_RAW, UPGRADED "Error attaching: no such container\r\n", NULL,
		  0, 0 }
	};
	struct fake_engine f;
	struct engine e;
	struct err err = ERR_INIT;
	struct dstream d;
	char bytes[64];
	ssize_t n;

	fake_start(&f, rules, ARRAY_SIZE(rules), 0);
	ck_assert_int_eq(engine_open(&e, f.host, clock_ms() + 10000, &err), 0);
	AUTO_CLOSE int fd = container_attach(&e, ID64, &err);
	n = io_read_some(fd, bytes, sizeof(bytes), clock_ms() + 5000, &err);
	ck_assert_int_gt(n, 8);
	dstream_init(&d, drop_bytes, NULL);
	ck_assert_int_eq(dstream_push(&d, bytes, (size_t)n), -1);
	engine_close(&e);
	fake_stop(&f);
}
END_TEST

#define EVENT(id, action)                                                                          \
	"{\"Type\":\"container\",\"Action\":\"" action "\",\"Actor\":{\"ID\":\"" id "\"}}"
#define EVENTS "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define CHUNKED EVENTS "Transfer-Encoding: chunked\r\n\r\n"

static const struct {
	enum fake_act act;
	const char *text;
	int rc, sys, count; /* of events that came; "stop" ends the watch */
} stream_rows[] = {
	{ FAKE_RAW_HANG, EVENTS "\r\n" EVENT("a", "die") "\n" EVENT("b", "stop") "\n", 0, 0, 2 },
	{ FAKE_RAW_HANG, EVENTS "\r\n" EVENT("a", "die") EVENT("b", "stop"), 0, 0, 2 },
	{ FAKE_RAW_HANG, EVENTS "\r\n\x1e" EVENT("a", "die") "\n\x1e" EVENT("b", "stop") "\n", 0, 0,
	  2 },
	{ FAKE_DRIP, EVENTS "\r\n" EVENT("a", "die") " \r\n" EVENT("b", "stop"), 0, 0, 2 },
	{ FAKE_RAW_HANG, EVENTS "\r\n{\"status\":\"die\",\"id\":\"a\"}\n" EVENT("b", "stop"), 0, 0,
	  1 },
	{ FAKE_RAW_HANG, EVENTS "\r\n[1]\n7\n\"x\"\n" EVENT("b", "stop"), 0, 0, 1 },
	{ FAKE_RAW_HANG, EVENTS "\r\n" EVENT("a", "die"), 0, 0, 1 }, /* until the deadline */
	{ FAKE_RAW, CHUNKED "0\r\n\r\n", -1, ENODATA, 0 },	 /* the engine goes down in order */
	{ FAKE_RAW, CHUNKED "5\r\n{\"a\":\r\n", -1, EPROTO, 0 }, /* and not in order */
	{ FAKE_RAW, EVENTS "\r\n" EVENT("a", "die") "{\"Type\":", -1, EPROTO,
	  1 }, /* cut in an object */
	{ FAKE_RAW_HANG, EVENTS "\r\n" EVENT("a", "die") "nonsense", -1, EPROTO, 1 },
	{ FAKE_FLOOD, EVENTS "\r\n\"", -1, EPROTO, 0 },
	{ FAKE_RAW, ANSWER("500", "{\"message\":\"no\"}"), -1, 0, 0 },
	{ FAKE_RAW, ANSWER("400", "{\"message\":\"invalid filter\"}"), -1, 0, 0 },
};

static int count_event(const struct event *event, void *arg)
{
	++*(int *)arg;
	return !strcmp(event->action, "stop");
}

START_TEST(events_are_whole_objects)
{
	const struct fake_rule rules[] = {
		FAKE_PING, { "GET /events", stream_rows[_i].act, stream_rows[_i].text, NULL, 0, 0 }
	};
	struct fake_engine f;
	struct engine e;
	struct err err = ERR_INIT;
	int count = 0;

	fake_start(&f, rules, ARRAY_SIZE(rules), 0);
	ck_assert_int_eq(engine_open(&e, f.host, clock_ms() + 10000, &err), 0);
	e.deadline_ms = clock_ms() + 5 * SHORT_MS;
	ck_assert_msg(event_watch(&e, "x", count_event, &count, &err) == stream_rows[_i].rc,
		      "row %d: %s: %s", _i, err.text, err.cause);
	ck_assert_msg(count == stream_rows[_i].count, "row %d: %d events", _i, count);
	ck_assert_msg(err.sys == stream_rows[_i].sys, "row %d: sys %d %s", _i, err.sys, err.text);
	engine_close(&e);
	fake_stop(&f);
}
END_TEST

struct seen {
	char id[CONTAINER_ID];
	bool die;
};

static int on_event(const struct event *event, void *arg)
{
	struct seen *s = arg;

	ck_assert_str_eq(event->id, s->id); /* no other instance's */
	s->die = s->die || !strcmp(event->action, "die");
	return !strcmp(event->action, "destroy");
}

START_TEST(events_tell_of_ours_only)
{
	struct kit k, foreign;
	struct seen s = { .die = false };
	struct err err = ERR_INIT;
	AUTO_FREE char *mine = xasprintf("%s-events", kit_instance());
	AUTO_CLOSE int fd = -1;
	char other[CONTAINER_ID];
	pid_t child;

	kit_begin(&foreign, kit_host());
	kit_create(&foreign, other);
	kit_begin(&k, kit_host());
	k.recipe.instance = mine;
	fd = kit_start(&k, s.id);
	child = fork();
	if (child == 0) {
		struct engine e;

		tool_sleep_ms(300); /* until the watch is on */
		if (engine_open(&e, kit_host(), clock_ms() + 20000, NULL) < 0)
			_exit(1);
		_exit(container_remove(&e, other, NULL) | container_remove(&e, s.id, NULL));
	}
	ck_assert_int_eq(event_watch(&k.engine, mine, on_event, &s, &err), 0);
	ck_assert(s.die);
	waitpid(child, NULL, 0);
	k.engine.deadline_ms = clock_ms() + 200;
	ck_assert_int_eq(event_watch(&k.engine, mine, on_event, &s, &err),
			 0); /* the deadline ends it */
	ck_assert_int_eq(clock_left(k.engine.deadline_ms), 0);
	kit_end(&k);
	kit_end(&foreign);
}
END_TEST

TCase *engine_streams(void)
{
	TCase *t = tcase_create("streams");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, attach_gives_the_stream_from_its_first_byte, 0,
			    ARRAY_SIZE(hijack_rows));
	tcase_add_test(t, text_behind_the_upgrade_is_no_frame);
	tcase_add_loop_test(t, events_are_whole_objects, 0, ARRAY_SIZE(stream_rows));
	tcase_add_test(t, events_tell_of_ours_only);
	return t;
}
