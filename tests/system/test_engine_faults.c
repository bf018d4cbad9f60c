/*
 * src/docker against an engine that fails: every way in which an answer can be late, cut, too long,
 * wrong or a lie, and what is said about it. Part of suite_engine; the fake engine passes on to the
 * real one what its rules don't name.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "docker/event.h"
#include "docker/info.h"
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
#include <unistd.h>

#define ID64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define PING(version)                                                                              \
	"HTTP/1.1 200 OK\r\nApi-Version: " version                                                 \
	"\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK"
#define SHORT_MS 400 /* deadline of calls that are to time out */

/* One row: what the engine answers to GET /info, and how the call ends. */
static const struct {
	const char *name;
	enum fake_act act;
	const char *text;
	int sys;	  /* err->sys; -1: the call succeeds */
	const char *says; /* in err.text or err.cause */
} call_rows[] = {
	{ "sound", FAKE_RAW, OK_HEAD "Content-Length: 2\r\n\r\n{}", -1, "" },
	{ "sound, chunked", FAKE_RAW,
	  OK_HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", -1, "" },
	{ "sound, ended by closing", FAKE_RAW, OK_HEAD "\r\n{}", -1, "" },
	{ "no terminator", FAKE_RAW, OK_HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
	  EPROTO, "broke off" },
	{ "broken chunk", FAKE_RAW, OK_HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
	  EPROTO, "garbled" },
	{ "longer than said", FAKE_RAW, OK_HEAD "Content-Length: 9\r\n\r\n{\"a\":\"bcdef\"}",
	  EPROTO, "not complete" },
	{ "shorter than said", FAKE_RAW, OK_HEAD "Content-Length: 90\r\n\r\n{}", EPROTO,
	  "broke off" },
	{ "negative length", FAKE_RAW, OK_HEAD "Content-Length: -5\r\n\r\n{}", EPROTO, "" },
	{ "half a value", FAKE_RAW, OK_HEAD "Content-Length: 5\r\n\r\n{\"a\":", EPROTO,
	  "not complete" },
	{ "two values", FAKE_RAW, OK_HEAD "Content-Length: 4\r\n\r\n{}{}", EPROTO, "not complete" },
	{ "text for JSON", FAKE_RAW, OK_HEAD "Content-Length: 5\r\n\r\nhello", EPROTO,
	  "not complete" },
	{ "500 in JSON", FAKE_RAW,
	  "HTTP/1.1 500 x\r\nContent-Type: application/json\r\nContent-Length: "
	  "22\r\n\r\n{\"message\":\"disk full\"}",
	  0, "disk full" },
	{ "503 in text", FAKE_RAW, "HTTP/1.1 503 x\r\nContent-Length: 9\r\n\r\ngone fish", 0,
	  "gone fish" },
	{ "500, message of another type", FAKE_RAW,
	  "HTTP/1.1 500 x\r\nContent-Length: 14\r\n\r\n{\"message\":[7]}", 0, "HTTP status 500" },
	{ "no answer", FAKE_RAW_HANG, "", ETIMEDOUT, "not responding" },
	{ "hangs in the header", FAKE_RAW_HANG, "HTTP/1.1 200 OK\r\nContent-", ETIMEDOUT,
	  "not responding" },
	{ "hangs in the body", FAKE_RAW_HANG, OK_HEAD "Content-Length: 9\r\n\r\n{", ETIMEDOUT,
	  "not responding" },
	{ "hangs up at once", FAKE_RAW, "", EPROTO, "broke off" },
	{ "hangs up in the header", FAKE_RAW, "HTTP/1.1 200 OK\r\nContent-", EPROTO, "" },
	{ "no HTTP", FAKE_RAW, "SSH-2.0-OpenSSH_9.2\r\n", EPROTO, "" },
	{ "too long", FAKE_FLOOD, OK_HEAD "\r\n", EMSGSIZE, "larger than" },
	{ "too long by its own word", FAKE_FLOOD, OK_HEAD "Content-Length: 9000000000\r\n\r\n",
	  EMSGSIZE, "larger" },
	{ "header without end", FAKE_FLOOD, "HTTP/1.1 200 OK\r\nX: ", EPROTO, "" },
	{ "redirect", FAKE_RAW,
	  "HTTP/1.1 302 x\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", -1, "" },
};

START_TEST(an_answer_is_whole_or_a_failure)
{
	const struct fake_rule rules[] = {
		FAKE_PING, { "GET /info", call_rows[_i].act, call_rows[_i].text, NULL, 0, 0 }
	};
	AUTO_JSON *answer = NULL;
	struct fake_engine f;
	struct engine e;
	struct err err = ERR_INIT;
	int status = 0, rc;

	fake_start(&f, rules, ARRAY_SIZE(rules), 0);
	ck_assert_msg(engine_open(&e, f.host, clock_ms() + 10000, &err) == 0, "%s: %s", err.text,
		      err.cause);
	if (call_rows[_i].sys == ETIMEDOUT)
		e.deadline_ms = clock_ms() + SHORT_MS;
	rc = engine_call(&e, "GET", "/info", NULL, &status, &answer, &err);
	ck_assert_msg(rc == (call_rows[_i].sys == -1 ? 0 : -1), "%s: %d %s", call_rows[_i].name, rc,
		      err.text);
	if (rc < 0) {
		ck_assert_msg(err.code == ERR_ENGINE && err.sys == call_rows[_i].sys,
			      "%s: %s, sys %d, %s", call_rows[_i].name, err.text, err.sys,
			      err.cause);
		ck_assert_msg(strstr(err.text, call_rows[_i].says) ||
				      strstr(err.cause, call_rows[_i].says),
			      "%s: %s (%s)", call_rows[_i].name, err.text, err.cause);
		ck_assert_ptr_null(answer);
	}
	ck_assert_int_gt(clock_left(e.deadline_ms + 2000), 0); /* it kept its deadline */
	engine_close(&e);
	fake_stop(&f);
}
END_TEST

static const struct {
	const char *ping, *version; /* answers */
	const char *api;	    /* what is agreed on, NULL: refused */
	int sys;
	const char *says;
} version_rows[] = {
	{ PING("1.41"), NULL, "1.41", 0, NULL },
	{ PING(ENGINE_API_MIN), NULL, ENGINE_API_MIN, 0, NULL },
	{ PING(ENGINE_API_MAX), NULL, ENGINE_API_MAX, 0, NULL },
	{ PING("1.56"), OK_HEAD "\r\n{\"MinAPIVersion\":\"1.44\"}", ENGINE_API_MAX, 0, NULL },
	{ PING("1.99"), OK_HEAD "\r\n{\"MinAPIVersion\":\"1.52\"}", NULL, EPROTONOSUPPORT,
	  "too new" },
	{ PING("2.0"), OK_HEAD "\r\n{\"MinAPIVersion\":\"2.0\"}", NULL, EPROTONOSUPPORT,
	  "too new" },
	{ PING("1.99"), OK_HEAD "\r\n{}", NULL, EPROTO, "oldest" },
	{ PING("1.39"), NULL, NULL, EPROTONOSUPPORT, "too old" },
	{ PING("1.4"), NULL, NULL, EPROTONOSUPPORT,
	  "too old" }, /* a version is no decimal fraction */
	{ PING("one"), NULL, NULL, EPROTO, "not a Docker engine" },
	{ PING("1.41\r\nX: y/../z"), NULL, "1.41", 0, NULL },
	{ PING("1.000000000000000000041"), NULL, NULL, EPROTO, "not a Docker engine" },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK", NULL, NULL, EPROTO,
	  "not a Docker engine" },
	{ "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n", NULL, NULL, EPROTO,
	  "not a Docker engine" },
	{ "HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n", NULL, NULL, 0, "failed" },
};

START_TEST(a_version_is_agreed_on_or_refused)
{
	const struct fake_rule rules[] = {
		{ "GET /_ping", FAKE_RAW, version_rows[_i].ping, NULL, 0, 0 },
		{ "GET /version", FAKE_RAW,
		  version_rows[_i].version ? version_rows[_i].version : "", NULL, 0, 0 }
	};
	struct fake_engine f;
	struct engine e;
	struct err err = ERR_INIT;

	fake_start(&f, rules, ARRAY_SIZE(rules), 0);
	if (engine_open(&e, f.host, clock_ms() + 10000, &err) == 0) {
		ck_assert_ptr_nonnull(version_rows[_i].api);
		ck_assert_str_eq(e.api, version_rows[_i].api);
		ck_assert(!e.podman);
	} else {
		ck_assert_msg(!version_rows[_i].api, "%s: %s", err.text, err.cause);
		ck_assert_int_eq(err.code, ERR_ENGINE);
		ck_assert_int_eq(err.sys, version_rows[_i].sys);
		kit_has(err.text, version_rows[_i].says);
	}
	ck_assert_uint_eq(fake_hits(&f, 1), version_rows[_i].version ? 1 : 0);
	engine_close(&e);
	fake_stop(&f);
}
END_TEST

START_TEST(podman_is_known_by_its_header)
{
	static const struct fake_rule rules[] = {
		{ "GET /_ping", FAKE_RAW, PING("1.41\r\nLibpod-Api-Version: 5.4.2"), NULL, 0, 0 }
	};
	struct fake_engine f;
	struct engine e;

	fake_start(&f, rules, ARRAY_SIZE(rules), 0);
	ck_assert_int_eq(engine_open(&e, f.host, clock_ms() + 10000, NULL), 0);
	ck_assert(e.podman);
	engine_close(&e);
	fake_stop(&f);
}
END_TEST

static const struct {
	const char *host;
	enum err_code code;
	int sys;
	const char *says;
} host_rows[] = {
	{ "unix:///tmp/belljar-test-no-such.sock", ERR_ENGINE, ENOENT,
	  "No Docker engine answers at unix:///tmp/" },
	{ "tcp://127.0.0.1:1", ERR_ENGINE, ECONNREFUSED,
	  "No Docker engine answers at tcp://127.0.0.1:1" },
	{ "tcp://belljar-test.invalid:2375", ERR_ENGINE, ENXIO, "No Docker engine answers" },
	{ "unix://relative", ERR_INVALID, 0, "DOCKER_HOST" },
	{ "tcp://", ERR_INVALID, 0, "DOCKER_HOST" },
	{ "tcp://host:0", ERR_INVALID, 0, "DOCKER_HOST" },
	{ "tcp://host:65536", ERR_INVALID, 0, "DOCKER_HOST" },
	{ "tcp://host:1/path", ERR_INVALID, 0, "DOCKER_HOST" },
	{ "ssh://host", ERR_INVALID, 0, "DOCKER_HOST" },
	{ "", ERR_INVALID, 0, "DOCKER_HOST" },
};

START_TEST(an_engine_out_of_reach_is_named)
{
	struct engine e;
	struct err err = ERR_INIT;

	ck_assert_int_eq(engine_open(&e, host_rows[_i].host, clock_ms() + 5000, &err), -1);
	ck_assert_msg(err.code == host_rows[_i].code, "%s: %s", host_rows[_i].host, err.text);
	ck_assert_msg(err.sys == host_rows[_i].sys, "%s: sys %d", host_rows[_i].host, err.sys);
	kit_has(err.text, host_rows[_i].says);
	engine_close(&e); /* harmless */
}
END_TEST

START_TEST(no_permission_is_no_absence)
{
	struct err err = ERR_INIT;
	struct lease_status s;
	struct engine e;

	ck_assert_int_eq(setgid(65534) | setuid(65534), 0); /* Check's child process only */
	ck_assert_int_eq(engine_open(&e, kit_host(), clock_ms() + 5000, &err), -1);
	ck_assert_int_eq(err.sys, EACCES);
	kit_has(err.text, "No permission");
	info_status(kit_host(), "x", "", clock_ms() + 5000, &s);
	kit_has(s.problem, "Docker daemon not reachable: no permission");
	kit_has(s.fix, "root");
	ck_assert(s.installed && !s.running);
}
END_TEST

START_TEST(status_finds_words_for_each_fault)
{
	static const struct {
		struct fake_rule rule;
		const char *problem, *fix;
	} rows[] = {
		{ { "GET /_ping", FAKE_RAW_HANG, "", NULL, 0, 0 },
		  "Docker daemon not responding",
		  "log" },
		{ { "GET /_ping", FAKE_RAW, PING("1.24"), NULL, 0, 0 }, "too old", "19.03" },
		{ { "GET /_ping", FAKE_RAW, "nonsense\r\n\r\n", NULL, 0, 0 },
		  "not reachable",
		  "DOCKER_HOST" },
		{ { "GET /info", FAKE_RAW_HANG, "", NULL, 0, 0 },
		  "Docker daemon not responding",
		  "log" },
		{ { "GET /images/", FAKE_RAW_HANG, "", NULL, 0, 0 },
		  "Timeout checking image",
		  "log" },
		{ { "GET /images/", FAKE_RAW, "HTTP/1.1 500 x\r\n\r\n", NULL, 0, 0 },
		  "failed while checking",
		  "log" },
		{ { "GET /info", FAKE_EDIT, "\"MemoryLimit\":true", "\"MemoryLimit\":false", 0, 0 },
		  "memory",
		  "cgroup" },
		{ { "GET /info", FAKE_EDIT, "\"SwapLimit\":true", "\"SwapLimit\":false", 0, 0 },
		  "swap",
		  "swapaccount" },
		{ { "GET /info", FAKE_EDIT, "\"PidsLimit\":true", "\"PidsLimit\":false", 0, 0 },
		  "pids",
		  "kernel" },
		{ { "GET /info", FAKE_EDIT, "\"CpuCfsQuota\":true", "\"CpuCfsQuota\":false", 0, 0 },
		  "cpu",
		  "CFS" },
	};
	struct fake_engine f;
	struct lease_status s;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool hangs = rows[i].rule.act == FAKE_RAW_HANG;

		fake_start(&f, &rows[i].rule, 1, 0);
		info_status(f.host, dock_image(), "", clock_ms() + (hangs ? SHORT_MS : 10000), &s);
		kit_has(s.problem, rows[i].problem);
		kit_has(s.fix, rows[i].fix);
		ck_assert(lease_status_ok(&s));
		if (rows[i].rule.act == FAKE_EDIT) {
			ck_assert(s.running && s.image_exists && !s.limits_ok);
			info_status(f.host, dock_image(), "memory,swap,pids,cpu",
				    clock_ms() + 10000, &s);
			ck_assert_str_eq(s.problem, "");
			ck_assert(s.limits_ok);
		}
		fake_stop(&f);
	}
}
END_TEST

TCase *engine_faults(void)
{
	TCase *t = tcase_create("faults");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, an_answer_is_whole_or_a_failure, 0, ARRAY_SIZE(call_rows));
	tcase_add_loop_test(t, a_version_is_agreed_on_or_refused, 0, ARRAY_SIZE(version_rows));
	tcase_add_test(t, podman_is_known_by_its_header);
	tcase_add_loop_test(t, an_engine_out_of_reach_is_named, 0, ARRAY_SIZE(host_rows));
	tcase_add_test(t, no_permission_is_no_absence);
	tcase_add_test(t, status_finds_words_for_each_fault);
	return t;
}
