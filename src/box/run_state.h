#pragma once

#include "base/base.h"
#include "box/run.h"
#include "limits.h"
#include "wire/dstream.h"
#include "wire/framer.h"

/* What run.c (the loop), run_send.c (to the guest) and run_receive.c (from the guest) share; nobody
 * else includes this. */

/* What the guest may say next. */
enum run_phase {
	RUN_SETUP,   /* until STARTED */
	RUN_PROGRAM, /* until EXIT */
	RUN_FILES,   /* between files */
	RUN_FILE,    /* within one */
	RUN_DONE     /* after BYE, or given up */
};

enum run_step { SEND_JOB, SEND_PUT, SEND_DATA, SEND_FILE_END, SEND_GO, SEND_STDIN, SEND_NOTHING };

/* Two frames' room: small ones (most jobs have nothing else) leave in one write. */
#define RUN_SEND_BYTES (2 * (FRAME_HEAD + FRAME_MAX))

struct run_send {
	enum run_step step;
	uint8_t *buf; /* RUN_SEND_BYTES, owned; bytes [pos, len) wait for the socket */
	size_t pos, len;
	uint8_t *job; /* the JOB payload, owned */
	size_t job_len, job_pos;
	size_t input; /* index of the file being sent */
	uint64_t input_pos;
	size_t stdin_pos;
	uint64_t room; /* bytes of STDIN that the guest can take */
	bool broken;   /* the socket takes no more; what the guest still says counts */
};

struct run {
	int stream;
	const struct run_job *job;
	const struct run_sink *sink;
	struct run_result *out;
	struct err *err;
	bool failed; /* the program did not start; err is set */
	enum run_phase phase;
	int64_t deadline; /* of the phase */
	int64_t phase_ms; /* when it began */
	struct run_send send;
	struct dstream dstream;
	struct framer framer;
	char *file; /* path of the file that comes, owned */
	uint64_t file_left;
	bool file_taken; /* the sink wants it */
	uint64_t files;
	uint64_t files_bytes;
};

int run_send_init(struct run_send *s, const struct run_job *job, struct err *err);
void run_send_clear(struct run_send *s);
/* True if bytes wait for the socket, after making as many frames as fit. */
bool run_send_pending(struct run *r);
/* Writes what the socket takes now. */
void run_send_flush(struct run *r);
/* No further frame; one that was begun is still finished. */
void run_send_stop(struct run *r);

void run_receive_init(struct run *r);
/* Reads what is there now. */
void run_receive(struct run *r);
/* Nothing more comes from the guest: settles what that means in this phase. `why` goes to the log.
 */
void run_give_up(struct run *r, const char *why);
/* The job ends without its program having run. */
void run_fail(struct run *r);
void run_set_phase(struct run *r, enum run_phase phase, int64_t wait_ms);
