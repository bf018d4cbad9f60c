/*
 * The answer of POST /v1/execute: every field of api.md from what a job's run left behind. Called
 * by execute.c last. Texts are made valid UTF-8 within the output cap here, and each way a program
 * can end gets its status and, where a number hides the reason, a sentence.
 */
#include "api/execute.h"
#include "api/files.h"
#include "api/members.h"
#include "base/err.h"
#include "base/utf8.h"
#include "conf.h"
#include "web/response.h"
#include "wire/base64.h"
#include "wire/json.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char marker[] = "\n...[truncated]";
#define MARKER_BYTES (sizeof(marker) - 1)

/* Room for everything beside output, files and unknown names; skipped names escaped at the worst.
 */
#define FIXED_BYTES ((size_t)LIMIT_SKIPPED * (6 * LIMIT_PATH_BYTES + 64) + 16384)
#define IGNORED_NAME_BYTES 64

/* The time limit ended the program: the guest says so, or the guest fell silent until then. */
static bool timed_out(const struct execute *ex)
{
	const struct run_result *r = &ex->result;

	return r->exit.cause == FRAME_CAUSE_TIMEOUT ||
	       (r->lost && r->run_ms >= ex->fields.timeout_ms);
}

static const char *ended_status(uint32_t exit_code)
{
	return exit_code == 0 ? "ok" : "error";
}

const char *execute_status(const struct execute *ex)
{
	const struct frame_exit *e = &ex->result.exit;

	if (timed_out(ex))
		return "timeout";
	switch (e->cause) {
	case FRAME_CAUSE_EXIT:
		return ended_status(e->exit_code);
	case FRAME_CAUSE_SIGNAL:
	case FRAME_CAUSE_CPU:
		return "signaled";
	case FRAME_CAUSE_OOM:
		return "oom";
	case FRAME_CAUSE_CANCELLED:
		return "cancelled";
	default:
		return "error"; /* lost: the program ended its own container */
	}
}

static int signal_of(const struct frame_exit *e)
{
	return e->cause == FRAME_CAUSE_CPU && e->signal == 0 ? SIGXCPU : (int)e->signal;
}

static void signal_name(int number, char *out, size_t max)
{
	const char *name = sigabbrev_np(number);

	if (name)
		snprintf(out, max, "SIG%s", name);
	else
		snprintf(out, max, "signal %d", number);
}

bool execute_explain(const struct execute *ex, char *out, size_t max)
{
	const struct frame_exit *e = &ex->result.exit;
	const char *cut =
		ex->result.cut ? "the container ended before all files had come back" : NULL;
	char name[32];

	signal_name(signal_of(e), name, sizeof(name));
	if (timed_out(ex))
		snprintf(out, max, "stopped: the time limit of %lld ms was reached",
			 (long long)ex->fields.timeout_ms);
	else if (ex->result.lost)
		snprintf(out, max,
			 "the container ended without a verdict: the program ended its own "
			 "container, or the engine did");
	else if (e->cause == FRAME_CAUSE_OOM)
		snprintf(out, max, "killed: the %u MiB memory limit was reached",
			 ex->limits.memory_mb);
	else if (e->cause == FRAME_CAUSE_CPU)
		snprintf(out, max, "killed: the CPU time limit of %lld s was reached (%s)",
			 (long long)ex->cpu_time_s, name);
	else if (e->cause == FRAME_CAUSE_SIGNAL)
		snprintf(out, max, "ended by %s", name);
	else if (e->oom)
		snprintf(out, max, "a process was killed: the %u MiB memory limit was reached",
			 ex->limits.memory_mb);
	else if (cut)
		snprintf(out, max, "%s", cut);
	else
		return false;
	return true;
}

bool execute_text(const struct execute *ex, const struct strbuf *raw, uint64_t total,
		  struct strbuf *out)
{
	size_t cap = (size_t)ex->output_bytes;
	size_t keep = cap > MARKER_BYTES ? cap - MARKER_BYTES : 0;
	bool more = total > raw->len;

	strbuf_init(out, 3 * raw->len + 3 + MARKER_BYTES);
	utf8_scrub(out, raw->buf, raw->len, !more);
	if (!more && out->len <= cap)
		return false;
	if (out->len > keep)
		strbuf_cut(out, utf8_cut(out->buf, out->len, keep));
	strbuf_add(out, marker, MIN(MARKER_BYTES, cap));
	return true;
}

/* stdout or stderr; returns whether it is truncated. */
static bool add_stream(const struct execute *ex, struct strbuf *body, const char *name,
		       const struct strbuf *raw, uint64_t total)
{
	bool more = total > raw->len;
	AUTO(strbuf) text = STRBUF(0);

	if (ex->fields.encoding && strcmp(ex->fields.encoding, "base64") == 0) {
		member_open(body, name, '"');
		base64_encode(body, raw->buf, raw->len);
		strbuf_addch(body, '"');
		return more;
	}
	more = execute_text(ex, raw, total, &text);
	member_text(body, name, text.buf, text.len);
	return more;
}

static void add_verdict(const struct execute *ex, struct strbuf *body)
{
	const struct run_result *r = &ex->result;
	char text[160] = "", name[32];

	if (timed_out(ex) || r->lost)
		member_null(body, "exit_code");
	else
		member_int(body, "exit_code", r->exit.exit_code);
	member_bool(body, "timed_out", timed_out(ex));
	member_int(body, "duration_ms", r->lost ? r->run_ms : (int64_t)(r->exit.wall_us / 1000));
	member_str(body, "status", execute_status(ex));
	member_str(body, "message", execute_explain(ex, text, sizeof(text)) ? text : NULL);
	signal_name(signal_of(&r->exit), name, sizeof(name));
	member_str(body, "signal", signal_of(&r->exit) && !timed_out(ex) ? name : NULL);
	member_bool(body, "oom_killed", r->exit.oom || r->exit.cause == FRAME_CAUSE_OOM);
}

static void add_files(const struct execute *ex, struct strbuf *body)
{
	member_open(body, "files", '[');
	for (size_t i = 0; i < ex->output.count; i++) {
		const struct blob *file = &ex->output.files[i];

		strbuf_addstr(body, i > 0 ? ",{" : "{");
		member_str(body, "path", file->name);
		member_str(body, "kind", "file");
		member_str(body, "file_id", file->id);
		member_int(body, "size_bytes", file->size);
		member_str(body, "mime_type", file->mime);
		member_str(body, "sha256", file->sha256);
		member_milli(body, "expires_at", file->expires_ms);
		strbuf_addch(body, '}');
	}
	strbuf_addch(body, ']');
}

static void add_usage(const struct execute *ex, struct strbuf *body)
{
	const struct run_result *r = &ex->result;

	member_open(body, "usage", '{');
	member_int(body, "wall_ms", r->lost ? r->run_ms : (int64_t)(r->exit.wall_us / 1000));
	if (r->lost)
		member_null(body, "cpu_ms");
	else
		member_int(body, "cpu_ms", (int64_t)(r->exit.cpu_us / 1000));
	if (r->exit.memory_peak == 0)
		member_null(body, "memory_peak_bytes");
	else
		member_int(body, "memory_peak_bytes", (int64_t)r->exit.memory_peak);
	member_int(body, "queue_ms", ex->lease.queue_ms);
	member_int(body, "start_ms", ex->lease.start_ms);
	strbuf_addch(body, '}');
}

static void add_limits(const struct execute *ex, struct strbuf *body)
{
	member_open(body, "limits", '{');
	member_int(body, "timeout_ms", ex->fields.timeout_ms);
	member_int(body, "memory_mb", ex->limits.memory_mb);
	member_milli(body, "cpus", ex->limits.cpu_milli);
	member_int(body, "pids", ex->limits.pids);
	member_int(body, "disk_mb", ex->limits.disk_mb);
	member_int(body, "tmp_mb", ex->limits.tmp_mb);
	member_int(body, "cpu_time_s", ex->cpu_time_s);
	member_int(body, "output_bytes", ex->output_bytes);
	strbuf_addch(body, '}');
}

static void add_skipped(const struct execute *ex, struct strbuf *body)
{
	const struct run_result *r = &ex->result;

	member_open(body, "skipped", '[');
	for (size_t i = 0; i < r->skipped_count; i++) {
		strbuf_addstr(body, i > 0 ? ",{" : "{");
		member_str(body, "path", r->skipped[i].path);
		member_str(body, "reason", r->skipped[i].reason);
		strbuf_addch(body, '}');
	}
	strbuf_addch(body, ']');
	if (r->skipped_more > 0)
		member_int(body, "skipped_more", (int64_t)r->skipped_more);
}

static void add_sandbox(const struct execute *ex, struct strbuf *body)
{
	member_open(body, "sandbox", '{');
	member_str(body, "mode", conf->sandbox);
	member_str(body, "engine", ex->lease.engine[0] ? ex->lease.engine : NULL);
	member_str(body, "image", conf->python_image);
	member_str(body, "language", "python");
	member_str(body, "version", "3.13");
	member_str(body, "network", "none");
	member_bool(body, "warm", ex->lease.warm);
	member_text(body, "id", ex->lease.id, strnlen(ex->lease.id, 12));
	strbuf_addch(body, '}');
}

/* Names of fields that nobody read; a few of them, cut, are enough to see a typing error. */
static void add_ignored(const struct execute *ex, struct strbuf *body)
{
	size_t count = ex->ignored ? json_object_array_length(ex->ignored) : 0;

	member_open(body, "ignored", '[');
	for (size_t i = 0; i < MIN(count, (size_t)LIMIT_PROBLEMS); i++) {
		struct json_object *item = json_object_array_get_idx(ex->ignored, i);
		const char *name = json_object_get_string(item);
		size_t len = (size_t)json_object_get_string_len(item);

		if (i > 0)
			strbuf_addch(body, ',');
		json_add_string(body, name,
				len > IGNORED_NAME_BYTES ? utf8_cut(name, len, IGNORED_NAME_BYTES)
							 : len);
	}
	strbuf_addch(body, ']');
}

/* At worst every byte of output is a control character: \u00XX. */
static size_t answer_bytes(const struct execute *ex)
{
	return 6 * (ex->result.out.len + ex->result.err.len + 2 * (MARKER_BYTES + 3)) +
	       ex->output.count * FILES_ROW_BYTES + FIXED_BYTES;
}

int execute_answer(struct execute *ex, struct response *res, struct err *err)
{
	const struct run_result *r = &ex->result;
	struct strbuf *body = &res->body;
	uint64_t out_bytes = MAX(r->exit.stdout_bytes, (uint64_t)r->out.len);
	uint64_t err_bytes = MAX(r->exit.stderr_bytes, (uint64_t)r->err.len);
	bool out_cut, err_cut;

	strbuf_clear(body);
	strbuf_init(body, answer_bytes(ex));
	strbuf_addch(body, '{');
	out_cut = add_stream(ex, body, "stdout", &r->out, out_bytes);
	err_cut = add_stream(ex, body, "stderr", &r->err, err_bytes);
	add_verdict(ex, body);
	member_bool(body, "stdout_truncated", out_cut);
	member_bool(body, "stderr_truncated", err_cut);
	member_int(body, "stdout_bytes", (int64_t)out_bytes);
	member_int(body, "stderr_bytes", (int64_t)err_bytes);
	add_files(ex, body);
	add_skipped(ex, body);
	add_usage(ex, body);
	add_limits(ex, body);
	add_sandbox(ex, body);
	add_ignored(ex, body);
	strbuf_addch(body, '}');
	res->status = 200;
	return strbuf_ok(body) ? 0
			       : err_set(err, ERR_INTERNAL,
					 "the answer does not fit into %zu bytes", body->max);
}
