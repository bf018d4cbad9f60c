/*
 * Starts and stops the service under test and speaks to it. Everything it uses is its own (run
 * folder, label, log), so tests run beside a service of the same machine.
 */
#include "support/service.h"

#include "base/alloc.h"
#include "support/answer.h"
#include "support/cleanup.h"
#include "support/dock.h"
#include "support/fcgi.h"
#include "support/ps.h"
#include "support/tool.h"

#include <check.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 90000 /* the first start fills the guest volume */
#define CALL_MS 120000
#define STOP_MS 30000

const char *service_binary(void)
{
	static char path[4200];
	snprintf(path, sizeof(path), "%s/belljar", tool_build_dir());
	return path;
}

void service_set(struct service *s, const char *pair)
{
	size_t key = strcspn(pair, "=") + 1;
	for (size_t i = 0; i < s->env_count; i++) {
		if (strncmp(s->env[i], pair, key) == 0) {
			free(s->env[i]);
			s->env[i] = xstrdup(pair);
			return;
		}
	}
	ck_assert_msg(s->env_count + 1 < SERVICE_ENV, "more settings than SERVICE_ENV");
	s->env[s->env_count++] = xstrdup(pair);
	s->env[s->env_count] = NULL;
}

void service_set_config(struct service *s, const char *path)
{
	snprintf(s->config, sizeof(s->config), "%s", path);
}

static void set_pair(struct service *s, const char *key, const char *value)
{
	AUTO_FREE char *pair = xasprintf("%s=%s", key, value);
	service_set(s, pair);
}

static void set_defaults(struct service *s)
{
	AUTO_FREE char *files = xasprintf("%s/files", s->dir);
	set_pair(s, "RUN_DIR", s->run_dir);
	set_pair(s, "FILE_STORAGE_DIR", files);
	set_pair(s, "INSTANCE", s->instance);
	set_pair(s, "SERVICE_USER", tool_service_user());
	set_pair(s, "PYTHON_IMAGE", dock_image());
	set_pair(s, "GUEST_DIR", tool_build_dir());
	set_pair(s, "LOG_FORMAT", "json");
	set_pair(s, "MAX_CONCURRENT_JOBS", "3");
	set_pair(s, "QUEUE_LENGTH", "8");
	/* Containers are counted; the pool has a suite of its own. */
	set_pair(s, "POOL_SIZE", "0");
	/* The machine may be slow and busy: whoever waits for a slot in these tests must get it. */
	set_pair(s, "QUEUE_TIMEOUT_MS", "60000");
	if (getenv("DOCKER_HOST"))
		set_pair(s, "DOCKER_HOST", getenv("DOCKER_HOST"));
	if (getenv("OPTIONAL_LIMITS"))
		set_pair(s, "OPTIONAL_LIMITS", getenv("OPTIONAL_LIMITS"));
}

void service_prepare(struct service *s, const char *const *extra)
{
	static int count;
	*s = (struct service){ .dir = tool_new_dir("s") };
	snprintf(s->instance, sizeof(s->instance), "%s-%d-%d", cleanup_name(), (int)getpid(),
		 ++count);
	snprintf(s->run_dir, sizeof(s->run_dir), "%s/run", s->dir);
	snprintf(s->fcgi, sizeof(s->fcgi), "%s/fcgi.sock", s->run_dir);
	snprintf(s->keeper, sizeof(s->keeper), "%s/keeper.sock", s->run_dir);
	snprintf(s->log, sizeof(s->log), "%s/log", s->dir);
	set_defaults(s);
	for (size_t i = 0; extra && extra[i]; i++)
		service_set(s, extra[i]);
}

struct start {
	struct service *s;
	bool ok;
};

static bool is_up(void *arg)
{
	struct start *w = arg;
	AUTO(answer) a = ANSWER_INIT;
	int status;
	if (waitpid(w->s->pid, &status, WNOHANG) == w->s->pid) {
		cleanup_forget(w->s->pid);
		w->s->pid = 0;
		return true;
	}
	if (access(w->s->fcgi, F_OK) != 0)
		return false;
	service_call(w->s, "GET", "/health", NULL, &a);
	struct json_object *status_text = answer_get(&a, "status");
	return a.status == 200 &&
	       (!w->ok || strcmp(json_object_get_string(status_text), "ok") == 0);
}

void service_start(struct service *s, bool ok)
{
	const char *const argv[] = { service_binary(), s->config[0] ? "--config" : NULL, s->config,
				     NULL };
	struct start w = { s, ok };
	answer_log_path(s->log);
	s->pid = tool_spawn(&(struct tool_child){
		.argv = argv, .env = (const char *const *)s->env, .log = s->log });
	cleanup_pid(s->pid);
	bool up = tool_until(is_up, &w, START_MS);
	if (up && s->pid)
		return;
	AUTO(answer) a = ANSWER_INIT;
	bool ended = s->pid == 0;
	if (!ended)
		service_call(s, "GET", "/health", NULL, &a);
	answer_fail(&a, __FILE__, __LINE__, "the service did not start: %s",
		    ended ? "it ended" : "no good answer of /health in time");
}

void service_up(struct service *s, const char *const *extra)
{
	service_prepare(s, extra);
	service_start(s, true);
}

void service_stop(struct service *s)
{
	if (s->pid <= 0)
		return;
	(void)tool_stop(s->pid, STOP_MS);
	cleanup_forget(s->pid);
	s->pid = 0;
}

void service_clear(struct service *s)
{
	service_stop(s);
	answer_log_path(NULL);
	dock_remove_run(s->instance);
	for (size_t i = 0; i < s->env_count; i++)
		free(s->env[i]);
	if (s->dir)
		tool_rmtree(s->dir);
	free(s->dir);
	*s = (struct service){ 0 };
}

void service_call(struct service *s, const char *method, const char *uri, const char *body,
		  struct answer *out)
{
	struct fcgi_request r = {
		.method = method, .uri = uri, .body = body, .len = body ? strlen(body) : 0
	};
	fcgi_call(s->fcgi, &r, out, CALL_MS);
}

bool service_stored(const struct service *s, const char *id, struct strbuf *out)
{
	AUTO_FREE char *path = xasprintf("%s/files/local/%.2s/%s/content", s->dir, id, id);
	return tool_read(path, out);
}

char *service_body(const char *code, const char *more)
{
	struct json_object *text = json_object_new_string(code);
	char *body = xasprintf("{\"code\":%s%s%s}",
			       json_object_to_json_string_ext(text, JSON_C_TO_STRING_NOSLASHESCAPE),
			       more ? "," : "", more ? more : "");
	json_object_put(text);
	return body;
}

void service_try(struct service *s, const char *code, const char *more, struct answer *out)
{
	AUTO_FREE char *body = service_body(code, more);
	service_call(s, "POST", "/v1/execute", body, out);
}

void service_execute(struct service *s, const char *code, const char *more, struct answer *out)
{
	service_try(s, code, more, out);
	WANT_STATUS(out, 200);
}

void service_begin(struct service *s, const char *code, const char *more, struct fcgi *out)
{
	AUTO_FREE char *body = service_body(code, more);
	struct fcgi_request r = { .uri = "/v1/execute", .body = body, .len = strlen(body) };
	fcgi_start(out, s->fcgi, &r);
}

size_t service_role(struct service *s, const char *role, pid_t *out, size_t max)
{
	pid_t all[PS_MAX];
	size_t n = ps_children(s->pid, all, PS_MAX), found = 0;
	for (size_t i = 0; i < n; i++) {
		if (!ps_named(all[i], role))
			continue;
		if (found < max)
			out[found] = all[i];
		found++;
	}
	return found;
}

struct one_role {
	struct service *s;
	const char *role;
	pid_t pid;
};

static bool one_is_there(void *arg)
{
	struct one_role *w = arg;
	return service_role(w->s, w->role, &w->pid, 1) > 0;
}

pid_t service_one(struct service *s, const char *role)
{
	struct one_role w = { .s = s, .role = role };
	ck_assert_msg(tool_until(one_is_there, &w, TOOL_WAIT_MS), "there is no %s", role);
	return w.pid;
}

struct role_wait {
	struct service *s;
	const char *role;
	size_t count;
	pid_t not_this;
};

static bool role_is_there(void *arg)
{
	struct role_wait *w = arg;
	pid_t all[PS_MAX];
	size_t n = service_role(w->s, w->role, all, PS_MAX);
	for (size_t i = 0; i < n && i < PS_MAX; i++)
		if (all[i] == w->not_this)
			return false;
	return n == w->count;
}

bool service_wait_role(struct service *s, const char *role, size_t count, pid_t not_this)
{
	struct role_wait w = { s, role, count, not_this };
	return tool_until(role_is_there, &w, TOOL_WAIT_MS);
}

struct busy {
	struct service *s;
	pid_t pid;
};

/* A worker with a job holds the client's connection, the lease and the stream besides what all
 * hold. */
static bool find_busy(void *arg)
{
	struct busy *w = arg;
	pid_t all[PS_MAX];
	size_t n = service_role(w->s, "worker", all, PS_MAX);
	int least = 0, most = 0;
	for (size_t i = 0; i < n; i++) {
		int fds = ps_fd_count(all[i]);
		if (i == 0 || fds < least)
			least = fds;
		if (fds > most) {
			most = fds;
			w->pid = all[i];
		}
	}
	return n > 1 && most >= least + 3;
}

pid_t service_busy_worker(struct service *s)
{
	struct busy w = { .s = s };
	return tool_until(find_busy, &w, TOOL_WAIT_MS) ? w.pid : 0;
}

bool service_wait_log(struct service *s, const char *text)
{
	return tool_wait_text(s->log, text);
}

bool service_wait_clean(struct service *s)
{
	return dock_wait_none(s->instance, TOOL_WAIT_MS);
}
