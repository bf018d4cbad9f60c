/*
 * One job through a guest, seen from the worker. Theory of operation: a single poll loop over the
 * container's stream (both directions) and the client's connection. Frames to the guest are made
 * one by one as the socket takes them (run_send.c) and standard input only within the room that the
 * guest announced, so neither side ever waits for the other with a full pipe. Frames from the guest
 * go through two push parsers (Docker's, ours) into a state machine (run_receive.c). Each phase has
 * a deadline, and memory is two frame buffers and the output caps, whatever the container sends.
 * api/ calls it; it knows nothing of Docker or HTTP.
 */
#include "box/run.h"

#include "base/clock.h"
#include "base/err.h"
#include "box/run_state.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

void run_set_phase(struct run *r, enum run_phase phase, int64_t wait_ms)
{
	r->phase = phase;
	r->phase_ms = clock_ms();
	r->deadline = r->phase_ms + wait_ms;
}

void run_fail(struct run *r)
{
	r->failed = true;
	r->phase = RUN_DONE;
}

static void client_left(struct run *r)
{
	r->out->client_gone = true;
	if (r->phase == RUN_SETUP) {
		err_set(r->err, ERR_CLIENT_GONE, "the client left before its program began");
		run_fail(r);
		return;
	}
	/* Closing the stream is the guest's order to kill everything; nobody waits for the verdict.
	 */
	if (r->phase == RUN_PROGRAM) {
		r->out->exit.cause = FRAME_CAUSE_CANCELLED;
		r->out->run_ms = clock_ms() - r->phase_ms;
	}
	run_give_up(r, "the client left");
}

static void step(struct run *r)
{
	struct pollfd fds[2] = { { .fd = r->stream, .events = POLLIN },
				 { .fd = r->job->watch_fd, .events = POLLRDHUP } };
	int n;

	if (run_send_pending(r))
		fds[0].events |= POLLOUT;
	if (r->failed)
		return;
	n = poll(fds, 2, clock_left(r->deadline));
	if (n < 0 && errno != EINTR)
		run_give_up(r, "poll failed");
	else if (n > 0 && fds[1].revents)
		client_left(r);
	else if (clock_ms() >= r->deadline)
		run_give_up(r, "no sign of the guest before the deadline");
	if (n <= 0 || r->phase == RUN_DONE)
		return;
	if (fds[0].revents & POLLOUT)
		run_send_flush(r);
	if (fds[0].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL))
		run_receive(r);
}

static void run_end(struct run *r)
{
	free(r->file);
	framer_clear(&r->framer);
	run_send_clear(&r->send);
}

static void result_init(struct run_result *out, uint64_t output_bytes)
{
	*out = (struct run_result){ 0 };
	strbuf_init(&out->out, output_bytes);
	strbuf_init(&out->err, output_bytes);
}

int run_job(int stream, const struct run_job *job, const struct run_sink *sink,
	    struct run_result *out, struct err *err)
{
	struct run r = { .stream = stream, .job = job, .sink = sink, .out = out, .err = err };

	result_init(out, job->frame.output_bytes);
	if (run_send_init(&r.send, job, err)) {
		run_send_clear(&r.send);
		return -1;
	}
	run_receive_init(&r);
	run_set_phase(&r, RUN_SETUP, LIMIT_STAGE_MS);
	while (r.phase != RUN_DONE)
		step(&r);
	run_end(&r);
	return r.failed ? -1 : 0;
}

void run_result_clear(struct run_result *r)
{
	strbuf_clear(&r->out);
	strbuf_clear(&r->err);
	for (size_t i = 0; i < r->skipped_count; i++)
		free(r->skipped[i].path);
	r->skipped_count = 0;
}
