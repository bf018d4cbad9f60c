#pragma once

#include "base/base.h"
#include "guest/cgroup.h"
#include "guest/child.h"
#include "guest/inputs.h"
#include "guest/out.h"
#include "guest/preimport.h"
#include "guest/why.h"
#include "wire/frame.h"

#include <sys/types.h>

/*
 * All that the guest knows, in one static block: it allocates nothing while a program runs, so a
 * program that has eaten the container's memory can't take the guest's.
 */
#define GUEST_STDIN_MAX (64 << 10) /* what is held of the program's stdin: one pipe's worth */
#define GUEST_GRACE_MS 100	   /* for children that hold the pipes after the program's end */
#define GUEST_READY_MS 20000	   /* interpreter start on a machine under load; 30 ms is usual */
#define GUEST_ACCEPT_MS 5000	   /* from sending the job to the driver until it takes it */
#define GUEST_PREIMPORT_MS 30000   /* for all imports in advance; one second is usual */
#define GUEST_IMPORT_MS 200 /* a job waits so long for an import under way: four fresh starts */
#define GUEST_ARGS_FILE "/tmp/belljar-args.json" /* outside of the workspace: never returned */

enum guest_state {
	GUEST_WAITING,	  /* HELLO is sent, no job yet */
	GUEST_STAGING,	  /* job and files arrive */
	GUEST_RUNNING,	  /* the clock runs */
	GUEST_ENDING,	  /* the main process has ended, its children have the grace */
	GUEST_DRAINING,	  /* nothing lives, the pipes are being emptied */
	GUEST_COLLECTING, /* EXIT is sent, files go out */
	GUEST_DONE	  /* BYE or FAIL is sent: only the end of input is awaited */
};

struct guest {
	enum guest_state state;
	int in_fd, sig_fd, work_fd;
	struct child_spec spec;
	struct child child;
	struct preimport preimport;
	struct out out;
	struct inputs inputs;
	struct why why;

	/* frames that arrive */
	size_t in_len;
	uint8_t in[FRAME_HEAD + FRAME_MAX];

	/* the job: text is mapped while it is needed; job.args, argv and env point into it */
	uint8_t *text;
	size_t text_len;
	bool text_whole;
	struct frame_job job;
	char main_name[256];

	/* the run */
	int64_t started_us, deadline_us, grace_us, ended_us;
	enum frame_cause forced; /* why it was killed by us; 0: it wasn't */
	uint64_t cpu_before_us;
	struct cgroup_count oom_before;
	uint64_t out_bytes, err_bytes;

	/* stdin of the program: a ring, and what of it the worker may be told is free again */
	size_t stdin_at, stdin_len;
	uint32_t credit_out, credit_due;
	bool stdin_ended;
	uint8_t stdin_ring[GUEST_STDIN_MAX];

	uint8_t scratch[FRAME_MAX];
};

/* Microseconds of a clock that never jumps. */
int64_t guest_now_us(void);
/* Kills what lives and ends the process, and with it the container. */
NORETURN void guest_quit(struct guest *g, int code);
