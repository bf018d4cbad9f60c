/*
 * The guest's half of the protocol as the worker believes it: which frame may come in which phase,
 * and how much of everything. The container is hostile: a frame out of order, over a limit or
 * ill-formed ends the conversation with what was collected so far. Called by run.c's loop only;
 * never blocks.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/path.h"
#include "base/utf8.h"
#include "box/run_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const char *guest_reason(enum frame_skip reason)
{
	static const char *const words[] = {
		[FRAME_SKIP_LINK] = "link",	      [FRAME_SKIP_SPECIAL] = "special",
		[FRAME_SKIP_TOO_LARGE] = "too_large", [FRAME_SKIP_TOO_MANY] = "too_many",
		[FRAME_SKIP_TOTAL] = "too_large",     [FRAME_SKIP_UNREADABLE] = "unreadable",
		[FRAME_SKIP_NAME] = "bad_name",	      [FRAME_SKIP_DEPTH] = "too_deep",
	};

	return words[reason];
}

/* Why the sink did not take a file. */
static const char *sink_reason(const struct err *refused)
{
	switch (refused->code) {
	case ERR_TOO_LARGE:
		return "too_large";
	case ERR_STORE_FULL:
		return "store_full";
	case ERR_BAD_NAME:
		return "bad_name";
	default:
		return "store_failed";
	}
}

static void skip_file(struct run *r, const char *path, size_t len, const char *reason)
{
	struct run_result *out = r->out;

	if (out->skipped_count == LIMIT_SKIPPED) {
		out->skipped_more++;
		return;
	}
	out->skipped[out->skipped_count].path = xstrndup(path, len);
	out->skipped[out->skipped_count].reason = reason;
	out->skipped_count++;
}

/* The file that comes does not come whole. */
static void drop_file(struct run *r, const char *reason)
{
	if (r->file_taken)
		r->sink->abort(r->sink->arg);
	r->file_taken = false;
	skip_file(r, r->file, strlen(r->file), reason);
}

void run_give_up(struct run *r, const char *why)
{
	switch (r->phase) {
	case RUN_SETUP:
		err_set(r->err, ERR_SANDBOX, "the container ended before the program began");
		err_cause(r->err, "%s", why);
		run_fail(r);
		return;
	case RUN_PROGRAM:
		r->out->run_ms = clock_ms() - r->phase_ms;
		r->out->lost = r->out->exit.cause == 0;
		break;
	case RUN_FILE:
		if (r->file_taken)
			drop_file(r, guest_reason(FRAME_SKIP_UNREADABLE));
		/* fall through */
	case RUN_FILES:
		r->out->collect_ms = clock_ms() - r->phase_ms;
		r->out->cut = true;
		break;
	case RUN_DONE:
		return;
	}
	r->phase = RUN_DONE;
}

static bool on_started(struct run *r, size_t len)
{
	if (r->phase != RUN_SETUP || r->send.step < SEND_STDIN || len != 0)
		return false;
	run_set_phase(r, RUN_PROGRAM, (int64_t)r->job->frame.timeout_ms + LIMIT_GRACE_MS);
	return true;
}

/* What the client is told of each reason; disk and path are the client's own to mend. */
static int fail_text(uint32_t reason, struct err *err)
{
	switch (reason) {
	case FRAME_FAIL_DISK:
		return err_set(err, ERR_INVALID,
			       "the files do not fit into the workspace: raise limits.disk_mb or "
			       "send less");
	case FRAME_FAIL_PATH:
		return err_set(err, ERR_INVALID,
			       "File paths: one of them cannot be made in the workspace");
	case FRAME_FAIL_START:
		return err_set(err, ERR_SANDBOX,
			       "the interpreter could not be started in the container");
	case FRAME_FAIL_CANCELLED:
		return err_set(err, ERR_CLIENT_GONE,
			       "the job was cancelled before its program began");
	default:
		return err_set(err, ERR_SANDBOX, "the container refused the job");
	}
}

static bool on_fail(struct run *r, struct frame_in *in)
{
	uint32_t reason = frame_get_u32(in), len;
	const char *text = frame_get_field(in, &len);
	AUTO(strbuf) clean = STRBUF(512);

	if (r->phase != RUN_SETUP || !frame_in_done(in))
		return false;
	utf8_scrub(&clean, text, MIN(len, 128u), true);
	fail_text(reason, r->err);
	err_cause(r->err, "guest: %s", clean.buf);
	run_fail(r);
	return true;
}

static bool on_output(struct run *r, struct strbuf *to, const uint8_t *data, size_t len)
{
	if (r->phase != RUN_PROGRAM || len > strbuf_room(to))
		return false;
	strbuf_add(to, data, len);
	return true;
}

static bool on_room(struct run *r, struct frame_in *in)
{
	uint32_t more = frame_get_u32(in);

	if (!frame_in_done(in) || r->send.step < SEND_STDIN)
		return false;
	r->send.room = MIN(r->send.room + more, (uint64_t)UINT32_MAX);
	return true;
}

/* Numbers that no program can reach are lies of the container, and would not fit into an answer. */
static bool plausible(const struct run *r, const struct frame_exit *e)
{
	return e->cause >= FRAME_CAUSE_EXIT && e->cause <= FRAME_CAUSE_CPU && e->exit_code <= 255 &&
	       e->signal <= 64 && e->oom <= 1 && e->wall_us <= INT64_MAX &&
	       e->cpu_us <= INT64_MAX && e->memory_peak <= INT64_MAX &&
	       e->stdout_bytes <= INT64_MAX && e->stderr_bytes <= INT64_MAX &&
	       e->stdout_bytes >= r->out->out.len && e->stderr_bytes >= r->out->err.len;
}

static bool on_verdict(struct run *r, const uint8_t *data, size_t len)
{
	struct frame_exit e;

	if (r->phase != RUN_PROGRAM || !frame_get_exit(data, len, &e) || !plausible(r, &e))
		return false;
	r->out->exit = e;
	r->out->run_ms = clock_ms() - r->phase_ms;
	run_send_stop(r);
	run_set_phase(r, RUN_FILES, LIMIT_COLLECT_MS);
	return true;
}

/* Within the job's limits, and a name that is safe to hand on. */
static bool file_allowed(struct run *r, const char *path, size_t len, uint64_t size)
{
	const struct frame_job *job = &r->job->frame;
	bool main_file = len == job->main_name_len && memcmp(path, job->main_name, len) == 0;

	return path_is_clean(path, len) && !main_file && r->files < job->files_max &&
	       size <= job->file_bytes && size <= job->files_bytes - r->files_bytes;
}

static bool on_file(struct run *r, struct frame_in *in)
{
	uint32_t len;
	const char *path = frame_get_field(in, &len);
	uint64_t size = frame_get_u64(in);
	struct err refused = ERR_INIT;

	if (r->phase != RUN_FILES || !frame_in_done(in) || !file_allowed(r, path, len, size))
		return false;
	r->files++;
	r->files_bytes += size;
	free(r->file);
	r->file = xstrndup(path, len);
	r->file_left = size;
	r->phase = RUN_FILE;
	r->file_taken = r->sink->begin(r->sink->arg, r->file, size, &refused) == 0;
	if (!r->file_taken)
		skip_file(r, path, len, sink_reason(&refused));
	return true;
}

static bool on_data(struct run *r, const uint8_t *data, size_t len)
{
	struct err refused = ERR_INIT;

	if (r->phase != RUN_FILE || len > r->file_left)
		return false;
	r->file_left -= len;
	if (r->file_taken && r->sink->data(r->sink->arg, data, len, &refused))
		drop_file(r, sink_reason(&refused));
	return true;
}

static bool on_end(struct run *r, size_t len)
{
	struct err refused = ERR_INIT;

	if (r->phase != RUN_FILE || r->file_left != 0 || len != 0)
		return false;
	if (r->file_taken && r->sink->end(r->sink->arg, &refused))
		drop_file(r, sink_reason(&refused));
	r->file_taken = false;
	r->phase = RUN_FILES;
	return true;
}

/* Names here may be what the reason says (not clean), so they are shown scrubbed and cut. */
static bool on_skip(struct run *r, struct frame_in *in)
{
	uint32_t len;
	const char *path = frame_get_field(in, &len);
	uint32_t reason = frame_get_u32(in);
	AUTO(strbuf) clean = STRBUF(4 * LIMIT_PATH_BYTES);

	if (r->phase != RUN_FILES || !frame_in_done(in) || reason < FRAME_SKIP_LINK ||
	    reason > FRAME_SKIP_DEPTH)
		return false;
	utf8_scrub(&clean, path, MIN(len, (uint32_t)LIMIT_PATH_BYTES), true);
	skip_file(r, clean.buf, clean.len, guest_reason((enum frame_skip)reason));
	return true;
}

static bool on_bye(struct run *r, size_t len)
{
	if (r->phase != RUN_FILES || len != 0)
		return false;
	r->out->collect_ms = clock_ms() - r->phase_ms;
	r->phase = RUN_DONE;
	return true;
}

static bool dispatch(struct run *r, uint8_t type, const uint8_t *data, size_t len)
{
	struct frame_in in = { .buf = data, .len = len, .ok = true };

	switch (type) {
	case FRAME_STARTED:
		return on_started(r, len);
	case FRAME_FAIL:
		return on_fail(r, &in);
	case FRAME_STDOUT:
		return on_output(r, &r->out->out, data, len);
	case FRAME_STDERR:
		return on_output(r, &r->out->err, data, len);
	case FRAME_STDIN_ROOM:
		return on_room(r, &in);
	case FRAME_EXIT:
		return on_verdict(r, data, len);
	case FRAME_FILE:
		return on_file(r, &in);
	case FRAME_DATA:
		return on_data(r, data, len);
	case FRAME_END:
		return on_end(r, len);
	case FRAME_SKIP:
		return on_skip(r, &in);
	case FRAME_BYE:
		return on_bye(r, len);
	default:
		return false;
	}
}

/* One whole frame; non-zero stops both parsers. */
static int on_frame(void *arg, uint8_t type, const uint8_t *data, size_t len)
{
	struct run *r = arg;

	if (!dispatch(r, type, data, len))
		run_give_up(r, "a frame that the protocol does not allow there");
	return r->phase == RUN_DONE ? -1 : 0;
}

/* Docker's stream: the guest speaks on stdout; its stderr says nothing of the job. */
static int on_stream(void *arg, enum dstream_kind kind, const void *data, size_t len)
{
	struct run *r = arg;

	if (kind == DSTREAM_STDOUT)
		return framer_push(&r->framer, data, len);
	return kind == DSTREAM_STDERR ? 0 : -1;
}

void run_receive_init(struct run *r)
{
	dstream_init(&r->dstream, on_stream, r);
	framer_init(&r->framer, on_frame, r);
}

void run_receive(struct run *r)
{
	uint8_t piece[FRAME_MAX];
	ssize_t n = recv(r->stream, piece, sizeof(piece), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		run_give_up(r, "the container's stream ended");
	else if (dstream_push(&r->dstream, piece, (size_t)n) && r->phase != RUN_DONE)
		run_give_up(r, "the container's stream is broken");
}
