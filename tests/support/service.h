#pragma once

#include "base/base.h"
#include "base/strbuf.h"

#include <json-c/json.h>
#include <sys/types.h>

struct answer;
struct fcgi;

/*
 * The service under test: the real binary with its own run folder, instance label and log. Started
 * in a suite's unchecked fixture (one for all its tests) or inside a test.
 */
#define SERVICE_ENV 40
struct service {
	pid_t pid; /* the master; 0: not running */
	char *dir; /* all its files */
	char instance[64];
	char run_dir[128], fcgi[160], keeper[160], log[160];
	char *env[SERVICE_ENV]; /* KEY=value */
	size_t env_count;
	char config[200]; /* --config; empty: none */
};

/* Settings that go over the tests' own, "KEY=value", NULL-ended; NULL: none. */
void service_prepare(struct service *s, const char *const *extra);
/* One more setting; the last word on a key wins. */
void service_set(struct service *s, const char *pair);
/* The file is given with --config. */
void service_set_config(struct service *s, const char *path);
/* Starts it and waits until /health answers (ok: also until it says ok). Ends the test with the
 * log's end when that doesn't come. */
void service_start(struct service *s, bool ok);
/* service_prepare and service_start with an engine that works. */
void service_up(struct service *s, const char *const *extra);
/* TERM and wait; checks nothing. */
void service_stop(struct service *s);
/* stop, remove its containers and files. */
void service_clear(struct service *s);
/* Path of the binary under test. */
const char *service_binary(void);

/* One request over FastCGI. body: JSON text or NULL. */
void service_call(struct service *s, const char *method, const char *uri, const char *body,
		  struct answer *out);
/*
 * POST /v1/execute of a program; more is JSON text of further members ("\"timeout_ms\":2000") or
 * NULL. service_execute wants status 200.
 */
void service_try(struct service *s, const char *code, const char *more, struct answer *out);
void service_execute(struct service *s, const char *code, const char *more, struct answer *out);
/* The same in the background: fcgi_finish ends it. */
void service_begin(struct service *s, const char *code, const char *more, struct fcgi *out);
/* The body that service_try sends; the caller's. */
char *service_body(const char *code, const char *more);

/* The content of a stored file, read from the store's folder; false: there is none. */
bool service_stored(const struct service *s, const char *id, struct strbuf *out);

/* Pids of the live processes of a role ("worker", "keeper", "janitor"); how many (at most max
 * written). */
size_t service_role(struct service *s, const char *role, pid_t *out, size_t max);
/* One of them; waits until there is one and ends the test when none comes. */
pid_t service_one(struct service *s, const char *role);
/* Waits until the role has exactly count live processes, none of them not_this (0: any); false
 * after TOOL_WAIT_MS. */
bool service_wait_role(struct service *s, const char *role, size_t count, pid_t not_this);
/* The worker that runs a job now, 0 when none does within TOOL_WAIT_MS. */
pid_t service_busy_worker(struct service *s);
/* Waits until a line of the log has the text; false after TOOL_WAIT_MS. */
bool service_wait_log(struct service *s, const char *text);
/* Waits until no container of it is left. */
bool service_wait_clean(struct service *s);
