/*
 * The worker: one request after the other, each a straight line of blocking calls with deadlines.
 * Forked by the master, which has taken all its powers (guard.c); main calls worker_serve for a CGI
 * request. The only place that turns an err into an answer, and the only one that writes the access
 * line: never code, output, names of files, or a query.
 */
#include "proc/worker.h"

#include "api/api.h"
#include "api/page.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "conf.h"
#include "limits.h"
#include "metrics.h"
#include "proc/setup.h"
#include "proc/stop.h"
#include "web/channel.h"
#include "web/origin.h"
#include "web/request.h"
#include "web/response.h"
#include "web/route.h"
#include "wire/json.h"

#include <malloc.h>
#include <signal.h>
#include <string.h>

#define ANSWER_BYTES                                                                               \
	(1 << 20) /* of every answer but a job's and a page of a list, which set theirs */

/* The row that was asked for, but does not take the content type: for the counts. No such row has
 * {} in its pattern. */
static const struct route *row_by_path(const struct request *req)
{
	for (size_t i = 0; i < api_routes_count; i++)
		if (api_routes[i].method == req->method && api_routes[i].types &&
		    strcmp(api_routes[i].pattern, req->path) == 0)
			return &api_routes[i];
	return NULL;
}

/* *out_route: the row that was asked for, or NULL. */
static int serve_route(struct request *req, struct response *res, struct route_times *times,
		       const struct route **out_route, struct err *err)
{
	char allow[64] = "";
	const struct route *route = route_find(api_routes, api_routes_count, req, allow, err);
	*out_route = route || err->code != ERR_MEDIA_TYPE ? route : row_by_path(req);
	if (route)
		return origin_check(req, err) ? -1 : route->handle(req, res, times, err);
	if (err->code != ERR_METHOD)
		return -1;
	response_header(res, "Allow", "%s", allow);
	if (req->method != METHOD_OPTIONS)
		return -1;
	res->status = 204;
	*err = (struct err)ERR_INIT;
	return 0;
}

/* What the client never sees; and what it does see, if that is our fault. */
static void log_failure(const struct err *err)
{
	if (err_info(err->code)->status >= 500)
		log_warn("%s%s%s", err->text, err->cause[0] ? ": " : "", err->cause);
	else if (err->cause[0])
		log_debug("%s: %s", err->text, err->cause);
}

static void log_access(const struct request *req, const struct route_times *t, int status,
		       const struct err *err, int64_t bytes_out)
{
	const struct log_field fields[] = {
		{ "method", req->method_name, 0 },
		{ "path", req->path, 0 },
		{ "status", NULL, status },
		{ "code", err->code == ERR_NONE ? "ok" : err_info(err->code)->name, 0 },
		{ "outcome", t->outcome[0] ? t->outcome : "-", 0 },
		{ "queue_ms", NULL, t->queue_ms },
		{ "start_ms", NULL, t->start_ms },
		{ "run_ms", NULL, t->run_ms },
		{ "collect_ms", NULL, t->collect_ms },
		{ "total_ms", NULL, clock_ms() - req->start_ms },
		{ "bytes_in", NULL, req->body_read },
		{ "bytes_out", NULL, bytes_out },
		{ "container", t->container[0] ? t->container : "-", 0 },
	};
	log_fields("request", fields, ARRAY_SIZE(fields));
}

/* What only some routes are counted by. An outcome is there once a program has run. */
static void count_work(const struct route *route, const struct route_times *t,
		       const struct err *err)
{
	const struct {
		const char *name;
		int64_t ms;
	} stages[] = {
		{ "queue", t->queue_ms },
		{ "start", t->start_ms },
		{ "run", t->run_ms },
		{ "collect", t->collect_ms },
	};
	for (size_t i = 0; i < ARRAY_SIZE(stages); i++)
		if (stages[i].ms >= 0)
			metrics_observe(METRIC_JOB_STAGE_SECONDS, stages[i].name,
					stages[i].ms * 1000);
	if (t->outcome[0])
		metrics_add(METRIC_JOBS, "python", t->outcome, 1); /* the one language there is */
	else if (err->code != ERR_NONE && route->handle == api_execute)
		metrics_add(METRIC_JOB_REJECTIONS, err_info(err->code)->name, NULL, 1);
	else if (err->code != ERR_NONE && route->handle == api_files_upload)
		metrics_add(METRIC_UPLOAD_REJECTIONS, err_info(err->code)->name, NULL, 1);
}

static void count_request(const struct request *req, const struct route *route, int status,
			  int64_t bytes_out)
{
	const char class[] = { (char)('0' + status / 100), 'x', 'x', '\0' };
	metrics_add(METRIC_REQUESTS, route ? route->pattern : NULL, class, 1);
	metrics_add(METRIC_REQUEST_BYTES, NULL, NULL, (uint64_t)MAX(req->body_read, (int64_t)0));
	metrics_add(METRIC_RESPONSE_BYTES, NULL, NULL, (uint64_t)bytes_out);
}

/* Sends the answer and returns the status for the log: 499 when nobody was there to take it. */
static int answer(struct request *req, struct response *res, const struct err *failed,
		  int64_t *out_bytes)
{
	if (failed->code == ERR_CLIENT_GONE)
		return err_info(ERR_CLIENT_GONE)->status;
	request_drain(req);
	struct err err = ERR_INIT;
	if (response_send(res, req, out_bytes, &err) < 0) {
		log_debug("answer not taken: %s", err.text);
		return err_info(ERR_CLIENT_GONE)->status;
	}
	return res->status;
}

/* People read a page; a handler that chooses by Accept itself may have said so already. */
static void answer_error(const struct request *req, struct response *res, const struct err *err,
			 struct json_object *problems)
{
	bool said = false;

	if (request_wants_html(req))
		page_error(res, err, problems, req->id);
	else
		response_error(res, err, problems);
	for (size_t i = 0; i < res->headers_count; i++)
		said |= strcmp(res->headers[i].name, "Vary") == 0;
	if (!said)
		response_header(res, "Vary", "Accept");
}

void worker_serve(struct channel *channel)
{
	struct request req;
	const struct route *route = NULL;
	struct err err = ERR_INIT;
	struct route_times times = {
		.queue_ms = -1, .start_ms = -1, .run_ms = -1, .collect_ms = -1
	};
	AUTO(response) res;
	response_init(&res, ANSWER_BYTES);
	int r = request_open(&req, channel, &err);
	log_request_id(req.id);
	if (r == 0)
		r = serve_route(&req, &res, &times, &route, &err);
	if (r < 0) {
		log_failure(&err);
		answer_error(&req, &res, &err, times.problems);
	}
	int64_t bytes_out = 0;
	int status = answer(&req, &res, &err, &bytes_out);
	/* Before the client sees the end: its next question may be for these. */
	count_request(&req, route, status, bytes_out);
	if (route)
		count_work(route, &times, &err);
	channel_finish(channel);
	if (times.note[0])
		log_warn("%s", times.note);
	log_access(&req, &times, status, &err, bytes_out);
	json_clear(&times.problems);
	log_request_id(NULL);
}

/* After channel_new: FCGX_Init sets its own handlers. The master left SIGTERM blocked;
 * channel_accept lets it in. */
static const volatile int *take_signals(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGUSR1, &ignore, NULL);
	return stop_catch();
}

/* Blocks from here on are mapped, so that freeing them gives them back. The C library raises its
 * own bound with the largest block it has freed: one large answer, and the worker kept it for life.
 */
#define MAPPED_FROM_BYTES (256 << 10)

int worker_run(const struct setup *s)
{
	mallopt(M_MMAP_THRESHOLD, MAPPED_FROM_BYTES);
	struct channel *channel = channel_new(s->fcgi_fd, false);
	if (!channel) {
		log_err("libfcgi cannot be initialised");
		return 1;
	}
	const volatile int *stop = take_signals();
	struct err err = ERR_INIT;
	int r = 1;

	if (api_open(&err) < 0)
		log_err("FILE_STORAGE_DIR %s: %s: %s", conf->storage_dir, err.text, err.cause);
	for (int64_t n = 0; n < conf->worker_requests && r > 0 && !stop_asked(); n++) {
		r = channel_accept(channel, stop, &err);
		if (r > 0)
			worker_serve(channel);
	}
	channel_free(channel);
	api_close();
	if (r < 0)
		log_err("cannot serve requests: %s: %s", err.text, err.cause);
	return r < 0;
}
