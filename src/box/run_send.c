/*
 * The worker's half of the guest protocol: makes the next frame of JOB, files, GO and standard
 * input when there is room for it, and writes what the socket takes. Called by run.c's loop only;
 * never blocks on the container.
 */
#include "base/alloc.h"
#include "base/err.h"
#include "box/run_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Numbers and lengths of a JOB beside its texts. */
#define JOB_FIXED_BYTES 256

int run_send_init(struct run_send *s, const struct run_job *job, struct err *err)
{
	const struct frame_job *f = &job->frame;
	size_t max =
		JOB_FIXED_BYTES + (size_t)f->main_name_len + f->args_len + f->argv_len + f->env_len;
	struct frame_out out = { .max = max, .ok = true };

	if (max > FRAME_JOB_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "args, argv and env have %zu bytes together, the limit is %d", max,
			       FRAME_JOB_MAX);
	s->job = out.buf = xmalloc(max);
	frame_put_job(&out, f);
	if (!out.ok)
		return err_set(err, ERR_INTERNAL, "the job cannot be put into a frame");
	s->job_len = out.len;
	s->buf = xmalloc(RUN_SEND_BYTES);
	return 0;
}

void run_send_clear(struct run_send *s)
{
	free(s->buf);
	free(s->job);
	s->buf = s->job = NULL;
}

void run_send_stop(struct run *r)
{
	r->send.step = SEND_NOTHING;
}

/* Appends a frame; len <= FRAME_MAX and the caller has seen to the room. data NULL: the payload is
 * there already. */
static void put_frame(struct run_send *s, enum frame_type type, const void *data, size_t len)
{
	frame_head(s->buf + s->len, type, (uint32_t)len);
	if (data)
		memcpy(s->buf + s->len + FRAME_HEAD, data, len);
	s->len += FRAME_HEAD + len;
}

/* A JOB ends with a piece shorter than FRAME_MAX, which may be empty. */
static void put_job(struct run *r)
{
	struct run_send *s = &r->send;
	size_t len = MIN(s->job_len - s->job_pos, (size_t)FRAME_MAX);

	put_frame(s, FRAME_JOB, s->job + s->job_pos, len);
	s->job_pos += len;
	if (len < FRAME_MAX)
		s->step = r->job->inputs_count > 0 ? SEND_PUT : SEND_GO;
}

static void put_path(struct run *r, const struct run_input *in)
{
	struct run_send *s = &r->send;
	struct frame_out out = { .buf = s->buf + s->len + FRAME_HEAD,
				 .max = FRAME_MAX,
				 .ok = true };

	frame_put_field(&out, in->path, strlen(in->path));
	frame_put_u64(&out, in->size);
	put_frame(s, FRAME_PUT, NULL, out.len);
	s->input_pos = 0;
	s->step = in->size > 0 ? SEND_DATA : SEND_FILE_END;
}

/* The len bytes at `at` of a stored file; false when it is shorter than its record says. The
 * descriptor's own offset is not used, so that a job can be sent once more. */
static bool read_input(const struct run_input *in, uint64_t at, uint8_t *to, size_t len)
{
	while (len > 0) {
		ssize_t n = pread(in->fd, to, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

static void put_data(struct run *r, const struct run_input *in)
{
	struct run_send *s = &r->send;
	size_t len = (size_t)MIN(in->size - s->input_pos, (uint64_t)FRAME_MAX);

	if (in->data) {
		put_frame(s, FRAME_DATA, (const uint8_t *)in->data + s->input_pos, len);
	} else if (read_input(in, s->input_pos, s->buf + s->len + FRAME_HEAD, len)) {
		put_frame(s, FRAME_DATA, NULL, len);
	} else {
		err_set(r->err, ERR_INTERNAL, "the stored file for %.160s cannot be read",
			in->path);
		run_fail(r);
		return;
	}
	s->input_pos += len;
	if (s->input_pos == in->size)
		s->step = SEND_FILE_END;
}

static void put_file_end(struct run *r)
{
	put_frame(&r->send, FRAME_END, NULL, 0);
	r->send.step = ++r->send.input < r->job->inputs_count ? SEND_PUT : SEND_GO;
}

/* False while the guest has no room. */
static bool put_stdin(struct run *r)
{
	struct run_send *s = &r->send;
	size_t left = r->job->stdin_len - s->stdin_pos;
	size_t len = (size_t)MIN(MIN((uint64_t)left, s->room), (uint64_t)FRAME_MAX);

	if (left == 0) {
		put_frame(s, FRAME_STDIN_END, NULL, 0);
		s->step = SEND_NOTHING;
		return true;
	}
	if (len == 0)
		return false;
	put_frame(s, FRAME_STDIN, (const uint8_t *)r->job->stdin_data + s->stdin_pos, len);
	s->stdin_pos += len;
	s->room -= len;
	return true;
}

/* One more frame into the buffer; false if there is none to send now. */
static bool put_next(struct run *r)
{
	switch (r->send.step) {
	case SEND_JOB:
		put_job(r);
		return true;
	case SEND_PUT:
		put_path(r, &r->job->inputs[r->send.input]);
		return true;
	case SEND_DATA:
		put_data(r, &r->job->inputs[r->send.input]);
		return !r->failed;
	case SEND_FILE_END:
		put_file_end(r);
		return true;
	case SEND_GO:
		put_frame(&r->send, FRAME_GO, NULL, 0);
		r->send.step = SEND_STDIN;
		return true;
	case SEND_STDIN:
		return put_stdin(r);
	case SEND_NOTHING:
		break;
	}
	return false;
}

bool run_send_pending(struct run *r)
{
	struct run_send *s = &r->send;

	if (s->broken)
		return false;
	if (s->pos == s->len)
		s->pos = s->len = 0;
	while (RUN_SEND_BYTES - s->len >= FRAME_HEAD + FRAME_MAX && put_next(r))
		;
	return s->pos < s->len;
}

void run_send_flush(struct run *r)
{
	struct run_send *s = &r->send;
	ssize_t n = send(r->stream, s->buf + s->pos, s->len - s->pos, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n > 0)
		s->pos += (size_t)n;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		s->broken = true;
}
