/*
 * Starts and stops the nginx of the system tests and speaks HTTP to it. Its files are in the
 * service's folder, so they go with it.
 */
#include "support/front.h"

#include "base/alloc.h"
#include "support/answer.h"
#include "support/cleanup.h"
#include "support/service.h"
#include "support/tool.h"
#include "support/web.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define STOP_MS 15000
#define ENV_MAX 32

static bool answers(void *arg)
{
	AUTO(answer) a = ANSWER_INIT;
	front_call(arg, "GET", "/health", NULL, NULL, &a);
	return a.status == 200;
}

static void spawn(struct front *f, struct service *s, const char *const *extra)
{
	AUTO_FREE char *script = xasprintf("%s/src/ops/nginx.sh", tool_root_dir());
	AUTO_FREE char *port = xasprintf("PORT=%d", f->port);
	AUTO_FREE char *dir = xasprintf("NGINX_DIR=%s", f->dir);
	AUTO_FREE char *run = xasprintf("RUN_DIR=%s", s->run_dir);
	AUTO_FREE char *user = xasprintf("SERVICE_USER=%s", tool_service_user());
	AUTO_FREE char *files = xasprintf("FILE_STORAGE_DIR=%s/files", s->dir);
	const char *env[ENV_MAX] = { port, dir, run, user, files, "HOST=127.0.0.1" };
	for (size_t i = 0; extra && extra[i] && i + 7 < ENV_MAX; i++)
		env[6 + i] = extra[i];
	f->pid = tool_spawn(&(struct tool_child){
		.argv = (const char *const[]){ "sh", script, "foreground", NULL },
		.env = env,
		.log = f->log });
	cleanup_pid(f->pid);
}

void front_start(struct front *f, struct service *s, const char *const *extra)
{
	*f = (struct front){ .port = tool_free_port() };
	snprintf(f->dir, sizeof(f->dir), "%s/nginx", s->dir);
	snprintf(f->log, sizeof(f->log), "%s/nginx.log", s->dir);
	spawn(f, s, extra);
	if (tool_until(answers, f, TOOL_WAIT_MS))
		return;
	AUTO_FREE char *log = tool_tail(f->log, 2000);
	ck_abort_msg("nginx doesn't answer on port %d:\n%s", f->port, log);
}

void front_stop(struct front *f)
{
	if (f->pid > 0) {
		(void)tool_stop(f->pid, STOP_MS);
		cleanup_forget(f->pid);
	}
	f->pid = 0;
}

void front_call(struct front *f, const char *method, const char *path, const char *body,
		const char *const *headers, struct answer *out)
{
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d%s", f->port, path);
	web_call(&(struct web_request){ .method = method,
					.url = url,
					.body = body,
					.len = body ? strlen(body) : 0,
					.headers = headers,
					.ms = 120000 },
		 out);
}

void front_execute(struct front *f, const char *code, const char *more, struct answer *out)
{
	AUTO_FREE char *body = service_body(code, more);
	front_call(f, "POST", "/v1/execute", body, NULL, out);
	WANT_STATUS(out, 200);
}
