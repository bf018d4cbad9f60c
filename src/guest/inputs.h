#pragma once

#include "base/base.h"
#include "guest/sip.h"
#include "guest/why.h"
#include "limits.h"

#include <sys/stat.h>
#include <time.h>

/*
 * The files put into the workspace before the start, and what is remembered of each to tell at the
 * end whether the program changed it.
 */
#define INPUTS_MAX (LIMIT_FILES + 8) /* the program itself and what the service may add */

struct input {
	size_t path_at, path_len;
	uint64_t size, hash;
	ino_t ino;
	struct timespec ctime;
};

struct inputs {
	int work_fd;
	uint8_t key[SIP_KEY];
	struct timespec sealed; /* when the program got the workspace */
	size_t count, paths_len;
	struct input rows[INPUTS_MAX];
	char paths[INPUTS_MAX * (LIMIT_PATH_BYTES + 1)];

	/* the one being written; fd -1: none */
	int fd;
	uint64_t left;
	struct sip sip;
};

/* -1: no random key is to be had. */
int inputs_init(struct inputs *in, int work_fd);
/* Makes the file and the folders above it, beneath work_fd and through no link. size bytes must
 * follow. */
int inputs_begin(struct inputs *in, const char *path, size_t len, uint64_t size, struct why *why);
int inputs_data(struct inputs *in, const void *data, size_t len, struct why *why);
int inputs_end(struct inputs *in, struct why *why);
bool inputs_writing(const struct inputs *in);
/* Called right before the program starts. */
void inputs_seal(struct inputs *in);
/*
 * True if path is an input and the open file fd, of state *st, has the bytes that were put: a
 * program that writes the same bytes again has changed nothing. buf is scratch memory.
 */
bool inputs_unchanged(const struct inputs *in, const char *path, int fd, const struct stat *st,
		      uint8_t *buf, size_t buf_size);
