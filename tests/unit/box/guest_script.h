#pragma once

#include "base/base.h"
#include "wire/frame.h"

/* A guest as a script: what it says to a worker, whole or as lies, over one end of a socket pair.
 * It runs in a child process. */

/* Starts fn in a child with the guest's end; returns the worker's end, non-blocking. */
int guest_start(void (*fn)(int fd));
/* As guest_start, for a child that exists already. */
void guest_pair(int *out_worker, int *out_guest);

/* One frame in one packet of Docker's stream. */
void guest_say(int fd, enum frame_type type, const void *data, size_t len);
/* The header of a frame that claims another length than its bytes have. */
void guest_say_lie(int fd, enum frame_type type, uint32_t claimed, const void *data, size_t len);
/* Raw bytes of Docker's stream, kind as it stands in the first byte. */
void guest_say_kind(int fd, int kind, const void *data, size_t len);
/* The next frame from the worker; its payload (at most FRAME_MAX) stays in a static buffer. Ends
 * the child at the stream's end. */
int guest_hear(int fd, const uint8_t **out, size_t *out_len);
/* Reads up to GO; counts what came. */
struct guest_heard {
	size_t jobs, job_bytes, files, file_bytes;
	char names[400]; /* each followed by ':' size and a blank */
	uint8_t job[FRAME_JOB_MAX];
};
const struct guest_heard *guest_hear_job(int fd);
void guest_say_file(int fd, const char *path, uint64_t size, const void *data, size_t len);
void guest_say_skip(int fd, const char *path, uint32_t reason);
void guest_say_room(int fd, uint32_t more);
void guest_say_exit(int fd, const struct frame_exit *e);
/* EXIT of an ordinary end with these counts of output. */
void guest_say_ok(int fd, uint64_t out, uint64_t err);
