/*
 * The guest protocol's bytes: headers, numbers, fields, and the two structs that travel. Memory in,
 * memory out: it neither reads nor writes a descriptor, allocates nothing, and is built into the
 * guest as well as into the service. Each side treats the other as hostile, so every reader checks
 * against what is left of the payload, and a job's string lists are checked for their final NUL
 * here, once, for everybody.
 */
#include "wire/frame.h"

#include <string.h>

static void put_be(uint8_t *at, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
}

static uint64_t get_be(const uint8_t *at, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < bytes; i++)
		v = v << 8 | at[i];
	return v;
}

void frame_head(uint8_t *head, enum frame_type type, uint32_t len)
{
	memset(head, 0, FRAME_HEAD);
	head[0] = (uint8_t)type;
	put_be(head + 4, len, 4);
}

bool frame_parse_head(const uint8_t *head, uint8_t *out_type, uint32_t *out_len)
{
	uint64_t len = get_be(head + 4, 4);

	if (head[1] || head[2] || head[3] || len > FRAME_MAX)
		return false;
	*out_type = head[0];
	*out_len = (uint32_t)len;
	return true;
}

/* Room for len more bytes, or NULL and the sticky mark. */
static uint8_t *out_room(struct frame_out *out, size_t len)
{
	if (!out->ok || out->len > out->max || len > out->max - out->len) {
		out->ok = false;
		return NULL;
	}
	out->len += len;
	return out->buf + out->len - len;
}

void frame_put_u32(struct frame_out *out, uint32_t v)
{
	uint8_t *at = out_room(out, 4);

	if (at)
		put_be(at, v, 4);
}

void frame_put_u64(struct frame_out *out, uint64_t v)
{
	uint8_t *at = out_room(out, 8);

	if (at)
		put_be(at, v, 8);
}

void frame_put_field(struct frame_out *out, const void *data, size_t len)
{
	uint8_t *at;

	if (len > UINT32_MAX) {
		out->ok = false;
		return;
	}
	frame_put_u32(out, (uint32_t)len);
	at = out_room(out, len);
	if (at && len)
		memcpy(at, data, len);
}

/* The next len bytes, or NULL and the sticky mark. */
static const uint8_t *in_take(struct frame_in *in, size_t len)
{
	if (!in->ok || in->pos > in->len || len > in->len - in->pos) {
		in->ok = false;
		return NULL;
	}
	in->pos += len;
	return in->buf + in->pos - len;
}

uint32_t frame_get_u32(struct frame_in *in)
{
	const uint8_t *at = in_take(in, 4);

	return at ? (uint32_t)get_be(at, 4) : 0;
}

uint64_t frame_get_u64(struct frame_in *in)
{
	const uint8_t *at = in_take(in, 8);

	return at ? get_be(at, 8) : 0;
}

const char *frame_get_field(struct frame_in *in, uint32_t *out_len)
{
	uint32_t len = frame_get_u32(in);
	const uint8_t *at = in_take(in, len);

	*out_len = at ? len : 0;
	return (const char *)at;
}

bool frame_in_done(const struct frame_in *in)
{
	return in->ok && in->pos == in->len;
}

void frame_put_job(struct frame_out *out, const struct frame_job *job)
{
	frame_put_u32(out, job->timeout_ms);
	frame_put_u64(out, job->output_bytes);
	frame_put_u32(out, job->cpu_time_s);
	frame_put_u32(out, job->files_max);
	frame_put_u64(out, job->files_bytes);
	frame_put_u64(out, job->file_bytes);
	frame_put_u32(out, job->show_last);
	frame_put_field(out, job->main_name, job->main_name_len);
	frame_put_field(out, job->args, job->args_len);
	frame_put_field(out, job->argv, job->argv_len);
	frame_put_field(out, job->env, job->env_len);
}

/* A list of strings is empty or ends in the NUL of its last one, so that walking it with strlen
 * stays inside. */
static bool list_ok(const char *list, uint32_t len)
{
	return len == 0 || list[len - 1] == '\0';
}

/* One path component without NUL: it becomes a file of the workspace. */
static bool name_ok(const char *name, uint32_t len)
{
	if (len == 0 || len > 255 || memchr(name, '/', len) || memchr(name, '\0', len))
		return false;
	return !(len == 1 && name[0] == '.') && !(len == 2 && name[0] == '.' && name[1] == '.');
}

bool frame_get_job(const uint8_t *buf, size_t len, struct frame_job *out)
{
	struct frame_in in = { .buf = buf, .len = len, .ok = true };
	struct frame_job job = { 0 };

	job.timeout_ms = frame_get_u32(&in);
	job.output_bytes = frame_get_u64(&in);
	job.cpu_time_s = frame_get_u32(&in);
	job.files_max = frame_get_u32(&in);
	job.files_bytes = frame_get_u64(&in);
	job.file_bytes = frame_get_u64(&in);
	job.show_last = frame_get_u32(&in);
	job.main_name = frame_get_field(&in, &job.main_name_len);
	job.args = frame_get_field(&in, &job.args_len);
	job.argv = frame_get_field(&in, &job.argv_len);
	job.env = frame_get_field(&in, &job.env_len);
	if (!frame_in_done(&in) || job.show_last > 1 || !name_ok(job.main_name, job.main_name_len))
		return false;
	if (!list_ok(job.argv, job.argv_len) || !list_ok(job.env, job.env_len))
		return false;
	*out = job;
	return true;
}

void frame_put_exit(struct frame_out *out, const struct frame_exit *e)
{
	frame_put_u32(out, e->cause);
	frame_put_u32(out, e->exit_code);
	frame_put_u32(out, e->signal);
	frame_put_u32(out, e->oom);
	frame_put_u64(out, e->wall_us);
	frame_put_u64(out, e->cpu_us);
	frame_put_u64(out, e->memory_peak);
	frame_put_u64(out, e->stdout_bytes);
	frame_put_u64(out, e->stderr_bytes);
}

/* Values a wait status and a cgroup can give; the counters are bounded so that sums in int64_t stay
 * exact. */
static bool exit_ok(const struct frame_exit *e)
{
	if (e->cause < FRAME_CAUSE_EXIT || e->cause > FRAME_CAUSE_CPU)
		return false;
	if (e->exit_code > 255 || e->signal > 64 || e->oom > 1)
		return false;
	return e->wall_us <= INT64_MAX / 2 && e->cpu_us <= INT64_MAX / 2 &&
	       e->memory_peak <= INT64_MAX / 2 && e->stdout_bytes <= INT64_MAX / 2 &&
	       e->stderr_bytes <= INT64_MAX / 2;
}

bool frame_get_exit(const uint8_t *buf, size_t len, struct frame_exit *out)
{
	struct frame_in in = { .buf = buf, .len = len, .ok = true };
	struct frame_exit e = { 0 };

	e.cause = frame_get_u32(&in);
	e.exit_code = frame_get_u32(&in);
	e.signal = frame_get_u32(&in);
	e.oom = frame_get_u32(&in);
	e.wall_us = frame_get_u64(&in);
	e.cpu_us = frame_get_u64(&in);
	e.memory_peak = frame_get_u64(&in);
	e.stdout_bytes = frame_get_u64(&in);
	e.stderr_bytes = frame_get_u64(&in);
	if (!frame_in_done(&in) || !exit_ok(&e))
		return false;
	*out = e;
	return true;
}
