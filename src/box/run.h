#pragma once

#include "base/base.h"
#include "base/strbuf.h"
#include "limits.h"
#include "wire/frame.h"

struct err;

/* One input file of a job: the bytes are in memory (data) or, when data is NULL, in the file
 * `fd` from its beginning, whatever its offset. Borrowed. */
struct run_input {
	const char *path;
	const void *data;
	int fd;
	uint64_t size;
};

struct run_job {
	struct frame_job frame;
	const struct run_input
		*inputs; /* the program itself is one of them, named frame.main_name */
	size_t inputs_count;
	const void *stdin_data;
	size_t stdin_len;
	int watch_fd; /* the client's connection, -1: none; its hang-up cancels the job */
};

/* What comes back. All strings and buffers are owned; end with run_result_clear. */
struct run_skip {
	char *path;
	const char *reason; /* one word, literal: "link", "too_large", "store_full"... */
};
struct run_result {
	struct frame_exit exit;
	struct strbuf out, err; /* at most frame.output_bytes each */
	bool lost; /* the container ended without its verdict: the program killed it or the engine
		      did */
	bool cut;  /* the verdict is there, but the container ended before all files had come */
	bool client_gone;
	int64_t run_ms, collect_ms;
	struct run_skip skipped[LIMIT_SKIPPED];
	size_t skipped_count;
	size_t skipped_more; /* how many more were skipped than are named */
};

/* Where files of the program go as they come. Every function returns 0 or -1 with err: then the
 * rest of that file is dropped and it counts as skipped, for the reason that err's code says. */
struct run_sink {
	int (*begin)(void *arg, const char *path, uint64_t size, struct err *err);
	int (*data)(void *arg, const void *data, size_t len, struct err *err);
	int (*end)(void *arg, struct err *err);
	void (*abort)(void *arg); /* the file that was begun does not come whole */
	void *arg;
};

/*
 * Drives one job through a guest that has said HELLO: sends it, feeds stdin as the guest has room,
 * collects output, files and the verdict. The container is hostile: every frame is checked against
 * the protocol's order and the job's limits; a guest that breaks them, or is silent beyond timeout
 * + grace, ends as `lost` with what was collected. -1 only when the program was not started
 * (ERR_SANDBOX, ERR_INVALID for a path or disk that the guest refused, ERR_CLIENT_GONE).
 */
int run_job(int stream, const struct run_job *job, const struct run_sink *sink,
	    struct run_result *out, struct err *err);
void run_result_clear(struct run_result *r);
