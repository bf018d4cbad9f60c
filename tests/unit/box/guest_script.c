/* The scripted guest of guest_script.h. Failures end the child, which the worker's side then sees
 * as a lost container. */
#include "unit/box/guest_script.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 20000

static void must(int rc)
{
	if (rc)
		_exit(3);
}

static void write_all(int fd, const void *data, size_t len)
{
	struct err err = ERR_INIT;

	must(io_write_all(fd, data, len, clock_ms() + PATIENCE_MS, &err));
}

static void read_all(int fd, void *data, size_t len)
{
	struct err err = ERR_INIT;

	must(io_read_all(fd, data, len, clock_ms() + PATIENCE_MS, &err));
}

void guest_pair(int *out_worker, int *out_guest)
{
	int fds[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	*out_worker = fds[0];
	*out_guest = fds[1];
	must(io_set_nonblock(fds[0], true));
}

int guest_start(void (*fn)(int fd))
{
	int worker, guest;

	guest_pair(&worker, &guest);
	if (fork() == 0) {
		close(worker);
		fn(guest);
		_exit(0);
	}
	close(guest);
	return worker;
}

void guest_say_kind(int fd, int kind, const void *data, size_t len)
{
	uint8_t head[8] = {
		(uint8_t)kind,	     0,		  0, 0, (uint8_t)(len >> 24), (uint8_t)(len >> 16),
		(uint8_t)(len >> 8), (uint8_t)len
	};

	write_all(fd, head, sizeof(head));
	write_all(fd, data, len);
}

void guest_say_lie(int fd, enum frame_type type, uint32_t claimed, const void *data, size_t len)
{
	static uint8_t buf[FRAME_HEAD + FRAME_MAX];

	frame_head(buf, type, claimed);
	if (len > 0)
		memcpy(buf + FRAME_HEAD, data, len);
	guest_say_kind(fd, 1, buf, FRAME_HEAD + len);
}

void guest_say(int fd, enum frame_type type, const void *data, size_t len)
{
	guest_say_lie(fd, type, (uint32_t)len, data, len);
}

int guest_hear(int fd, const uint8_t **out, size_t *out_len)
{
	static uint8_t payload[FRAME_MAX];
	uint8_t head[FRAME_HEAD], type;
	uint32_t len;

	read_all(fd, head, sizeof(head));
	must(!frame_parse_head(head, &type, &len));
	read_all(fd, payload, len);
	*out = payload;
	*out_len = len;
	return type;
}

static void note_file(struct guest_heard *h, const uint8_t *data, size_t len)
{
	struct frame_in in = { .buf = data, .len = len, .ok = true };
	uint32_t path_len;
	const char *path = frame_get_field(&in, &path_len);
	uint64_t size = frame_get_u64(&in);
	size_t used = strlen(h->names);

	must(!frame_in_done(&in));
	snprintf(h->names + used, sizeof(h->names) - used, "%.*s:%llu ", (int)path_len, path,
		 (unsigned long long)size);
	h->files++;
}

const struct guest_heard *guest_hear_job(int fd)
{
	static struct guest_heard h;
	const uint8_t *data;
	size_t len;
	int type;

	memset(&h, 0, sizeof(h));
	while ((type = guest_hear(fd, &data, &len)) != FRAME_GO) {
		if (type == FRAME_JOB) {
			h.jobs++;
			memcpy(h.job + h.job_bytes, data, len);
			h.job_bytes += len;
		} else if (type == FRAME_PUT) {
			note_file(&h, data, len);
		} else if (type == FRAME_DATA) {
			h.file_bytes += len;
		}
	}
	return &h;
}

static void say_path(int fd, enum frame_type type, const char *path, uint64_t number, bool wide)
{
	uint8_t buf[4096];
	struct frame_out out = { .buf = buf, .max = sizeof(buf), .ok = true };

	frame_put_field(&out, path, strlen(path));
	if (wide)
		frame_put_u64(&out, number);
	else
		frame_put_u32(&out, (uint32_t)number);
	guest_say(fd, type, buf, out.len);
}

void guest_say_file(int fd, const char *path, uint64_t size, const void *data, size_t len)
{
	say_path(fd, FRAME_FILE, path, size, true);
	for (size_t at = 0; at < len; at += FRAME_MAX)
		guest_say(fd, FRAME_DATA, (const char *)data + at,
			  MIN(len - at, (size_t)FRAME_MAX));
	if (size == len)
		guest_say(fd, FRAME_END, NULL, 0);
}

void guest_say_skip(int fd, const char *path, uint32_t reason)
{
	say_path(fd, FRAME_SKIP, path, reason, false);
}

void guest_say_room(int fd, uint32_t more)
{
	uint8_t buf[4];
	struct frame_out out = { .buf = buf, .max = sizeof(buf), .ok = true };

	frame_put_u32(&out, more);
	guest_say(fd, FRAME_STDIN_ROOM, buf, out.len);
}

void guest_say_exit(int fd, const struct frame_exit *e)
{
	uint8_t buf[256];
	struct frame_out out = { .buf = buf, .max = sizeof(buf), .ok = true };

	frame_put_exit(&out, e);
	guest_say(fd, FRAME_EXIT, buf, out.len);
}

void guest_say_ok(int fd, uint64_t out, uint64_t err)
{
	const struct frame_exit e = { .cause = FRAME_CAUSE_EXIT,
				      .wall_us = 5000,
				      .cpu_us = 3000,
				      .stdout_bytes = out,
				      .stderr_bytes = err };

	guest_say_exit(fd, &e);
}
