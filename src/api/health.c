/*
 * GET /health, /ready, /v1/docker/status: what the keeper's last look at the engine said, in words.
 * They ask no engine themselves and hold no slot, so they answer while every slot runs a job.
 * Called through the route table.
 */
#include "api/api.h"
#include "api/keeper_path.h"
#include "api/members.h"
#include "base/alloc.h"
#include "base/err.h"
#include "box/lease.h"
#include "conf.h"
#include "web/response.h"

#include <string.h>

static const char no_keeper[] = "the service's sandbox keeper does not answer";
static const char no_keeper_fix[] =
	"wait a few seconds; if it stays so, look into the service's log and restart it";

/* A keeper that does not answer is one more problem to report. */
static void ask(struct lease_status *out)
{
	AUTO_FREE char *path = keeper_path();
	struct err ignored = ERR_INIT;

	if (lease_ask_status(path, out, &ignored) == 0)
		return;
	*out = (struct lease_status){ .magic = LEASE_MAGIC };
	memcpy(out->problem, no_keeper, sizeof(no_keeper));
	memcpy(out->fix, no_keeper_fix, sizeof(no_keeper_fix));
}

/* NULL when jobs can run, else what is wrong. */
static const char *problem_of(const struct lease_status *s)
{
	if (s->problem[0])
		return s->problem;
	if (!s->running)
		return "the container engine does not answer";
	if (!s->image_exists)
		return "the image of the Python runtime is not available locally";
	return s->limits_ok ? NULL : "the engine cannot apply all limits";
}

static const char *text_or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static int finish(struct response *res, struct err *err)
{
	strbuf_addch(&res->body, '}');
	res->status = 200;
	return strbuf_ok(&res->body) ? 0 : err_set(err, ERR_INTERNAL, "the answer does not fit");
}

int api_health(struct request *req, struct response *res, struct route_times *times,
	       struct err *err)
{
	struct lease_status s;
	(void)req;
	(void)times;

	ask(&s);
	strbuf_addch(&res->body, '{');
	member_str(&res->body, "status", problem_of(&s) ? "error" : "ok");
	member_str(&res->body, "message", problem_of(&s));
	member_str(&res->body, "version", API_VERSION);
	return finish(res, err);
}

int api_ready(struct request *req, struct response *res, struct route_times *times, struct err *err)
{
	struct lease_status s;
	(void)req;
	(void)times;

	ask(&s);
	if (problem_of(&s))
		return err_set(err, s.running && !s.image_exists ? ERR_IMAGE : ERR_ENGINE, "%s",
			       problem_of(&s));
	strbuf_addstr(&res->body, "{\"ready\":true");
	return finish(res, err);
}

static void add_engine(struct strbuf *body, const struct lease_status *s)
{
	member_str(body, "engine", text_or_null(s->engine));
	member_str(body, "engine_version", text_or_null(s->engine_version));
	member_str(body, "api_version", text_or_null(s->api_version));
	member_str(body, "runtime", text_or_null(s->oci_runtime));
	member_str(body, "cgroup", text_or_null(s->cgroup));
	member_str(body, "os", text_or_null(s->os));
	member_str(body, "image", s->image[0] ? s->image : conf->python_image);
}

int api_docker_status(struct request *req, struct response *res, struct route_times *times,
		      struct err *err)
{
	struct strbuf *body = &res->body;
	struct lease_status s;
	(void)req;
	(void)times;

	ask(&s);
	strbuf_addch(body, '{');
	member_bool(body, "installed", s.installed);
	member_bool(body, "running", s.running);
	member_bool(body, "image_exists", s.image_exists);
	member_bool(body, "limits_ok", s.limits_ok);
	add_engine(body, &s);
	member_int(body, "slots", s.slots);
	member_int(body, "leased", s.leased);
	member_int(body, "queued", s.queued);
	member_str(body, "problem", problem_of(&s));
	member_str(body, "fix", text_or_null(s.fix));
	return finish(res, err);
}
