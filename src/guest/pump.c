/*
 * Carries bytes between the program's three pipes and the frames. serve.c calls it when poll says
 * that something can move. A flood ends here: beyond the cap the pipes are still emptied, so the
 * program goes on, but no byte crosses Docker. Nothing is held but one ring of stdin, whose size is
 * the credit that the worker gets.
 */
#include "guest/pump.h"

#include "guest/guest.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define CREDIT_STEP (GUEST_STDIN_MAX / 4) /* fewer, larger credits than one for each write */

static size_t frame_space(const struct guest *g)
{
	size_t room = out_room(&g->out);

	return room <= OUT_RESERVE ? 0 : room - OUT_RESERVE;
}

bool pump_wants_output(const struct guest *g, bool err_stream)
{
	int fd = err_stream ? g->child.err : g->child.out;
	uint64_t sent = err_stream ? g->err_bytes : g->out_bytes;

	return fd >= 0 && (sent >= g->job.output_bytes || frame_space(g) > 0);
}

/* One read of one stream. A pipe that is empty when nothing lives any more is at its end. */
static void pump_stream(struct guest *g, int *fd, enum frame_type type, uint64_t *total)
{
	bool over = *total >= g->job.output_bytes;
	size_t max = sizeof(g->scratch);
	ssize_t n;

	if (!over)
		max = MIN((uint64_t)frame_space(g), g->job.output_bytes - *total);
	if (max == 0)
		return;
	n = read(*fd, over ? g->scratch : out_payload(&g->out), max);
	if (n < 0 && (errno == EINTR || (errno == EAGAIN && g->state != GUEST_DRAINING)))
		return;
	if (n <= 0) {
		child_close(fd);
		return;
	}
	*total += (size_t)n;
	if (!over)
		out_commit(&g->out, type, (size_t)n);
}

void pump_output(struct guest *g)
{
	if (g->child.out >= 0)
		pump_stream(g, &g->child.out, FRAME_STDOUT, &g->out_bytes);
	if (g->child.err >= 0)
		pump_stream(g, &g->child.err, FRAME_STDERR, &g->err_bytes);
}

int pump_take_stdin(struct guest *g, const uint8_t *data, uint32_t len)
{
	size_t end, first;

	if (len > g->credit_out || g->stdin_ended)
		return -1;
	g->credit_out -= len;
	if (g->child.in < 0) {
		g->credit_due += len;
		return 0;
	}
	end = (g->stdin_at + g->stdin_len) % GUEST_STDIN_MAX;
	first = MIN((size_t)len, GUEST_STDIN_MAX - end);
	memcpy(g->stdin_ring + end, data, first);
	memcpy(g->stdin_ring, data + first, len - first);
	g->stdin_len += len;
	return 0;
}

void pump_end_stdin(struct guest *g)
{
	g->stdin_ended = true;
}

void pump_drop_stdin(struct guest *g)
{
	child_close(&g->child.in);
	g->credit_due += (uint32_t)g->stdin_len;
	g->stdin_len = 0;
}

static void feed(struct guest *g)
{
	while (g->stdin_len && g->child.in >= 0) {
		size_t max = MIN(g->stdin_len, GUEST_STDIN_MAX - g->stdin_at);
		ssize_t n = write(g->child.in, g->stdin_ring + g->stdin_at, max);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			pump_drop_stdin(g); /* the program has closed it */
			return;
		}
		g->stdin_at = (g->stdin_at + (size_t)n) % GUEST_STDIN_MAX;
		g->stdin_len -= (size_t)n;
		g->credit_due += (uint32_t)n;
	}
}

static void give_credit(struct guest *g)
{
	uint8_t word[4];
	struct frame_out out = { .buf = word, .max = sizeof(word), .ok = true };

	if (g->stdin_ended || g->credit_due == 0 || (g->credit_due < CREDIT_STEP && g->stdin_len))
		return;
	frame_put_u32(&out, g->credit_due);
	if (!out_put(&g->out, FRAME_STDIN_ROOM, word, sizeof(word)))
		return;
	g->credit_out += g->credit_due;
	g->credit_due = 0;
}

void pump_stdin(struct guest *g)
{
	feed(g);
	if (g->stdin_ended && g->stdin_len == 0)
		child_close(&g->child.in);
	give_credit(g);
}
