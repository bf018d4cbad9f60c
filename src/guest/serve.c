/*
 * The guest's loop: waits for the worker, the program's pipes, ended processes and deadlines at
 * once, and is never blocked by one of them. Frames are dispatched over a table that says which are
 * allowed in which state; a frame out of order before the start fails the job, later it ends the
 * container. Owns the state; the work is in job, pump, child, verdict and files.
 */
#include "guest/serve.h"

#include "guest/files.h"
#include "guest/guest.h"
#include "guest/job.h"
#include "guest/pump.h"
#include "guest/verdict.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define BIT(state) (1u << (state))
#define BEFORE_START (BIT(GUEST_WAITING) | BIT(GUEST_STAGING))
#define AFTER_START                                                                                \
	(BIT(GUEST_RUNNING) | BIT(GUEST_ENDING) | BIT(GUEST_DRAINING) | BIT(GUEST_COLLECTING) |    \
	 BIT(GUEST_DONE))

static int64_t min_deadline(const struct guest *g)
{
	if (g->state == GUEST_RUNNING)
		return g->deadline_us;
	if (preimport_watched(g))
		return preimport_deadline(g);
	return g->state == GUEST_ENDING ? g->grace_us : INT64_MAX;
}

/* Nothing lives after this; what the pipes hold still goes out. */
static void end_program(struct guest *g, enum frame_cause forced)
{
	if (forced && !g->child.ended) {
		g->forced = forced;
		g->ended_us = guest_now_us();
	}
	child_kill_all(&g->child);
	if (!g->forced)
		g->ended_us = g->child.ended_us;
	pump_drop_stdin(g);
	g->state = GUEST_DRAINING;
}

static int on_go(struct guest *g, const uint8_t *data UNUSED, uint32_t len)
{
	if (len)
		return why_set(&g->why, FRAME_FAIL_PROTOCOL, "GO has no payload");
	if (job_start(g) < 0)
		return -1;
	g->cpu_before_us = child_all_cpu_us(&g->child);
	g->started_us = guest_now_us();
	g->deadline_us = g->started_us + g->job.timeout_ms * 1000LL;
	g->state = GUEST_RUNNING;
	g->credit_due = GUEST_STDIN_MAX;
	if (!out_put(&g->out, FRAME_STARTED, NULL, 0))
		guest_quit(g, 1);
	return 0;
}

static int on_stdin(struct guest *g, const uint8_t *data, uint32_t len)
{
	if (pump_take_stdin(g, data, len) == 0)
		return 0;
	return why_set(&g->why, FRAME_FAIL_PROTOCOL, "more stdin than there is room for");
}

static int on_stdin_end(struct guest *g, const uint8_t *data UNUSED, uint32_t len UNUSED)
{
	pump_end_stdin(g);
	return 0;
}

static int on_cancel(struct guest *g, const uint8_t *data UNUSED, uint32_t len UNUSED)
{
	if (g->state == GUEST_STAGING)
		return why_set(&g->why, FRAME_FAIL_CANCELLED, "cancelled before the start");
	if (g->state == GUEST_RUNNING || g->state == GUEST_ENDING)
		end_program(g, FRAME_CAUSE_CANCELLED);
	return 0;
}

static const struct order {
	uint8_t type;
	unsigned states;
	int (*take)(struct guest *g, const uint8_t *data, uint32_t len);
} orders[] = {
	{ FRAME_JOB, BEFORE_START, job_take },
	{ FRAME_PUT, BIT(GUEST_STAGING), job_put },
	{ FRAME_DATA, BIT(GUEST_STAGING), job_data },
	{ FRAME_END, BIT(GUEST_STAGING), job_end },
	{ FRAME_GO, BIT(GUEST_STAGING), on_go },
	{ FRAME_STDIN, AFTER_START, on_stdin },
	{ FRAME_STDIN_END, AFTER_START, on_stdin_end },
	{ FRAME_CANCEL, BIT(GUEST_STAGING) | AFTER_START, on_cancel },
};

static void fail(struct guest *g)
{
	uint8_t buf[sizeof(g->why.text) + 8];
	struct frame_out out = { .buf = buf, .max = sizeof(buf), .ok = true };

	child_clear(&g->child);
	frame_put_u32(&out, g->why.code);
	frame_put_field(&out, g->why.text, strlen(g->why.text));
	if (!out.ok || !out_put(&g->out, FRAME_FAIL, buf, out.len))
		guest_quit(g, 1);
	g->state = GUEST_DONE;
}

static void take(struct guest *g, uint8_t type, const uint8_t *data, uint32_t len)
{
	bool early = BIT(g->state) & BEFORE_START;

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		if (orders[i].type != type || !(orders[i].states & BIT(g->state)))
			continue;
		if (orders[i].take(g, data, len) == 0)
			return;
		break;
	}
	if (g->state == GUEST_DONE)
		return; /* sent before the worker could read our last word */
	if (!early)
		guest_quit(g, 1);
	if (!g->why.code)
		why_set(&g->why, FRAME_FAIL_PROTOCOL, "frame %u is not expected now", type);
	fail(g);
}

/* Dispatches every whole frame that has arrived. */
static void take_frames(struct guest *g)
{
	size_t at = 0;
	uint32_t len;
	uint8_t type;

	while (g->in_len - at >= FRAME_HEAD) {
		if (!frame_parse_head(g->in + at, &type, &len))
			guest_quit(g,
				   1); /* the stream has lost its frames: nothing can be trusted */
		if (g->in_len - at < FRAME_HEAD + len)
			break;
		take(g, type, g->in + at + FRAME_HEAD, len);
		at += FRAME_HEAD + len;
	}
	g->in_len -= at;
	memmove(g->in, g->in + at, g->in_len);
}

static void read_orders(struct guest *g)
{
	ssize_t n = read(g->in_fd, g->in + g->in_len, sizeof(g->in) - g->in_len);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0)
		guest_quit(g, 0);
	g->in_len += (size_t)n;
	take_frames(g);
}

static void flush(struct guest *g)
{
	if (out_flush(&g->out) < 0)
		guest_quit(g, 1);
}

void serve_room(struct guest *g, size_t len)
{
	while (out_room(&g->out) < len || g->out.len > OUT_BYTES / 2) {
		struct pollfd fds[2] = { { .fd = g->in_fd, .events = POLLIN },
					 { .fd = g->out.fd, .events = POLLOUT } };

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			guest_quit(g, 1);
		if (fds[0].revents)
			read_orders(g);
		flush(g);
	}
}

static void send_verdict(struct guest *g)
{
	struct frame_exit verdict;
	uint8_t buf[128];
	struct frame_out out = { .buf = buf, .max = sizeof(buf), .ok = true };

	verdict_make(g, &verdict);
	frame_put_exit(&out, &verdict);
	if (!out.ok || !out_put(&g->out, FRAME_EXIT, buf, out.len))
		guest_quit(g, 1);
	g->state = GUEST_COLLECTING;
	flush(g);
	files_send(g);
	serve_room(g, 0);
	if (!out_put(&g->out, FRAME_BYE, NULL, 0))
		guest_quit(g, 1);
	g->state = GUEST_DONE;
}

static void reap(struct guest *g)
{
	struct signalfd_siginfo info;

	while (read(g->sig_fd, &info, sizeof(info)) > 0)
		continue;
	child_reap(&g->child);
	if (g->state == GUEST_RUNNING && g->child.ended) {
		g->state = GUEST_ENDING;
		g->grace_us = guest_now_us() + GUEST_GRACE_MS * 1000LL;
	}
}

/* Changes of state that no descriptor reports. */
static void advance(struct guest *g)
{
	bool closed = g->child.out < 0 && g->child.err < 0;

	if (g->state == GUEST_RUNNING && guest_now_us() >= g->deadline_us) {
		reap(g); /* an end in time that we have not looked at yet is no timeout */
		if (g->state == GUEST_RUNNING)
			end_program(g, FRAME_CAUSE_TIMEOUT);
	} else if (g->state == GUEST_ENDING && (closed || guest_now_us() >= g->grace_us)) {
		end_program(g, 0);
	}
	if (g->state == GUEST_DRAINING && g->child.out < 0 && g->child.err < 0)
		send_verdict(g);
}

static int wait_ms(const struct guest *g)
{
	int64_t end = min_deadline(g), left = end - guest_now_us();

	if (end == INT64_MAX)
		return -1;
	return left <= 0 ? 0 : (int)MIN((left + 999) / 1000, (int64_t)INT32_MAX);
}

static struct pollfd entry(int fd, short events)
{
	return (struct pollfd){ .fd = events ? fd : -1, .events = events };
}

static bool pumping(const struct guest *g)
{
	return g->state == GUEST_RUNNING || g->state == GUEST_ENDING || g->state == GUEST_DRAINING;
}

static void turn(struct guest *g)
{
	bool run = pumping(g);
	struct pollfd fds[] = {
		entry(g->in_fd, POLLIN),
		entry(g->out.fd, g->out.len ? POLLOUT : 0),
		entry(g->sig_fd, POLLIN),
		entry(g->child.out, run && pump_wants_output(g, false) ? POLLIN : 0),
		entry(g->child.err, run && pump_wants_output(g, true) ? POLLIN : 0),
		entry(g->child.in, run && g->stdin_len ? POLLOUT : 0),
		entry(g->child.ctl, preimport_watched(g) ? POLLIN : 0),
	};
	bool ready = g->state == GUEST_DRAINING && (fds[3].events || fds[4].events);

	if (poll(fds, ARRAY_SIZE(fds), ready ? 0 : wait_ms(g)) < 0 && errno != EINTR)
		guest_quit(g, 1);
	if (fds[0].revents)
		read_orders(g);
	if (fds[2].revents)
		reap(g);
	if (run && (ready || fds[3].revents || fds[4].revents))
		pump_output(g);
	/* Asked again: GO and the end of stdin may have come in this turn, and nothing wakes the
	 * next one. */
	if (pumping(g))
		pump_stdin(g);
	preimport_turn(g);
	advance(g);
	flush(g);
}

NORETURN static void loop(struct guest *g)
{
	for (;;)
		turn(g);
}

void serve(struct guest *g, uint32_t ready_ms)
{
	uint8_t buf[8];
	struct frame_out out = { .buf = buf, .max = sizeof(buf), .ok = true };

	frame_put_u32(&out, FRAME_VERSION);
	frame_put_u32(&out, ready_ms);
	if (!out_put(&g->out, FRAME_HELLO, buf, out.len))
		guest_quit(g, 1);
	flush(g);
	loop(g);
}

void serve_failure(struct guest *g)
{
	fail(g);
	flush(g);
	loop(g);
}
