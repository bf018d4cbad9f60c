/*
 * POST /v1/execute: one program in a container of its own, from the request's body to the answer.
 * Each step is a function of its own file; this one puts them in order, asks for the container and
 * runs the job. Called through the route table.
 */
#include "api/execute.h"

#include "api/api.h"
#include "api/keeper_path.h"
#include "base/alloc.h"
#include "base/err.h"
#include "conf.h"
#include "web/channel.h"
#include "web/response.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* made: one that has not waited for a job. */
static int take_container(struct execute *ex, struct request *req, bool made,
			  struct route_times *times, struct err *err)
{
	AUTO_FREE char *keeper = keeper_path();
	int64_t job_ms = LIMIT_STAGE_MS + ex->fields.timeout_ms + LIMIT_GRACE_MS + LIMIT_COLLECT_MS;
	struct lease_ask ask = {
		.magic = LEASE_MAGIC,
		.kind = LEASE_TAKE,
		.wait_ms = (uint32_t)conf->queue_timeout_ms,
		.run_ms = (uint32_t)job_ms,
		.made = made,
		.limits = ex->limits,
	};

	snprintf(ask.tenant, sizeof(ask.tenant), "%s", API_TENANT);

	if (lease_take(&ex->lease, keeper, &ask, channel_fd(req->channel), err))
		return -1;
	times->queue_ms = ex->lease.queue_ms;
	times->start_ms = ex->lease.start_ms;
	snprintf(times->container, sizeof(times->container), "%.12s", ex->lease.id);
	return 0;
}

static struct frame_job frame_of(const struct execute *ex)
{
	/* One more than a file can have, so that a full workspace is ENOSPC and not a signal for
	 * the file's size. */
	uint64_t file_mb = MAX(ex->limits.disk_mb, ex->limits.tmp_mb) + 1;

	return (struct frame_job){
		.timeout_ms = (uint32_t)ex->fields.timeout_ms,
		.output_bytes = (uint64_t)ex->output_bytes,
		.cpu_time_s = (uint32_t)ex->cpu_time_s,
		.files_max = (uint32_t)conf->max_output_files,
		.files_bytes = (uint64_t)conf->max_output_files_mb << 20,
		.file_bytes = file_mb << 20,
		.show_last = ex->fields.show_last,
		.main_name = ex->inputs[0].path,
		.main_name_len = (uint32_t)strlen(ex->inputs[0].path),
		.args = ex->args,
		.args_len = ex->args ? (uint32_t)strlen(ex->args) : 0,
		.argv = ex->argv.buf,
		.argv_len = (uint32_t)ex->argv.len,
		.env = ex->env.buf,
		.env_len = (uint32_t)ex->env.len,
	};
}

/*
 * One that waited for a job may have died after the keeper's last look. Nothing of the job has
 * happened then, so it goes to another, made for it: the client sees nothing but the time.
 */
static int run_in_container(struct execute *ex, struct request *req, const struct run_job *job,
			    const struct run_sink *sink, struct route_times *times, struct err *err)
{
	if (run_job(ex->lease.stream, job, sink, &ex->result, err) == 0)
		return 0;
	if (!ex->lease.warm || !err || err->code != ERR_SANDBOX)
		return -1;
	lease_clear(&ex->lease);
	run_result_clear(&ex->result);
	*err = (struct err)ERR_INIT;
	if (take_container(ex, req, true, times, err))
		return -1;
	return run_job(ex->lease.stream, job, sink, &ex->result, err);
}

static int run_program(struct execute *ex, struct request *req, struct route_times *times,
		       struct err *err)
{
	const struct run_sink sink = execute_output_sink(&ex->output);
	const struct run_job job = {
		.frame = frame_of(ex),
		.inputs = ex->inputs,
		.inputs_count = ex->inputs_count,
		.stdin_data = ex->fields.stdin_text,
		.stdin_len = ex->fields.stdin_len,
		.watch_fd = channel_fd(req->channel),
	};

	if (run_in_container(ex, req, &job, &sink, times, err))
		return -1;
	lease_clear(&ex->lease); /* the container goes while the answer is written */
	times->run_ms = ex->result.run_ms;
	times->collect_ms = ex->result.collect_ms;
	snprintf(times->outcome, sizeof(times->outcome), "%s", execute_status(ex));
	if (ex->output.trouble.code != ERR_NONE)
		snprintf(times->note, sizeof(times->note), "a job's file was not stored: %s (%s)",
			 ex->output.trouble.text, ex->output.trouble.cause);
	if (ex->result.client_gone)
		return err_set(err, ERR_CLIENT_GONE, "the client left while its program ran");
	return 0;
}

/* From here on the files are the client's: an answer that is lost on its way is not known here. */
static int answer(struct execute *ex, struct request *req, struct response *res, struct err *err)
{
	int rc =
		request_wants_html(req) ? execute_page(ex, res, err) : execute_answer(ex, res, err);

	response_header(res, "Vary", "Accept");
	ex->output.kept = rc == 0;
	return rc;
}

int api_execute(struct request *req, struct response *res, struct route_times *times,
		struct err *err)
{
	struct execute ex;
	int rc = -1;

	execute_init(&ex);
	if (api_open(err) == 0 && execute_read(&ex, req, times, err) == 0 &&
	    execute_check(&ex, err) == 0 && execute_stage(&ex, err) == 0 &&
	    take_container(&ex, req, false, times, err) == 0 &&
	    run_program(&ex, req, times, err) == 0)
		rc = answer(&ex, req, res, err);
	execute_clear(&ex);
	return rc;
}
