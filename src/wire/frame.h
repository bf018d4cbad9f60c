#pragma once

#include "base/base.h"

/*
 * Frames between a worker and the guest, on the container's stdin and stdout. Pure: memory in,
 * memory out; also built into the guest, so it includes nothing but base.h.
 *
 * A frame is 8 bytes of header and a payload: type (u8), 0 (u8), 0 (u16), length (u32 big-endian),
 * then length bytes, at most FRAME_MAX. Numbers in payloads are big-endian; a text or blob field is
 * u32 length and its bytes.
 *
 * Order to the guest (one job per guest):
 *   JOB, then for each input file PUT, DATA..., END, then GO; after GO: STDIN..., STDIN_END at any
 * time; CANCEL at any time after JOB. Order from the guest: HELLO, (after GO) STARTED or FAIL,
 * STDOUT/STDERR..., EXIT, then for each new or changed file FILE, DATA..., END; SKIP for what is
 * not sent; BYE last. FAIL may come at any time before STARTED instead of all that follows: the job
 * could not be set up (disk full while staging, exec failed). The worker closes the connection
 * after BYE; at the end of its input the guest kills everything and exits.
 */
#define FRAME_HEAD 8
#define FRAME_MAX 65536
#define FRAME_VERSION 1

enum frame_type {
	/* to the guest */
	FRAME_JOB = 1, /* struct frame_job, see frame_put_job */
	FRAME_PUT,   /* path (field), u64 size: DATA frames of exactly size bytes and END follow */
	FRAME_DATA,  /* bytes of a file; both directions */
	FRAME_END,   /* end of a file; both directions; empty */
	FRAME_GO,    /* empty: start the program */
	FRAME_STDIN, /* bytes */
	FRAME_STDIN_END, /* empty */
	FRAME_CANCEL,	 /* empty: kill the program, verdict cancelled */
	/* from the guest */
	FRAME_HELLO = 64, /* u32 FRAME_VERSION, u32 ready_ms (driver start) */
	FRAME_STARTED,	  /* empty: the clock of timeout_ms runs from here */
	FRAME_FAIL,	  /* u32 enum frame_fail, text (field) */
	FRAME_STDOUT,	  /* bytes */
	FRAME_STDERR,	  /* bytes */
	FRAME_EXIT,	  /* struct frame_exit, see frame_put_exit */
	FRAME_FILE,	  /* path (field), u64 size */
	FRAME_SKIP,	  /* path (field), u32 enum frame_skip */
	FRAME_STDIN_ROOM, /* u32: the guest can take this many more bytes of STDIN (credit, first
			     one comes with STARTED) */
	FRAME_BYE	  /* empty: nothing follows */
};

enum frame_fail {
	FRAME_FAIL_PROTOCOL = 1,
	FRAME_FAIL_DISK,
	FRAME_FAIL_PATH,
	FRAME_FAIL_START,
	FRAME_FAIL_CANCELLED
};
enum frame_skip {
	FRAME_SKIP_LINK = 1,
	FRAME_SKIP_SPECIAL,
	FRAME_SKIP_TOO_LARGE,
	FRAME_SKIP_TOO_MANY,
	FRAME_SKIP_TOTAL,
	FRAME_SKIP_UNREADABLE,
	FRAME_SKIP_NAME,
	FRAME_SKIP_DEPTH
};
/* Why the program ended. The exit code and signal stand beside it. */
enum frame_cause {
	FRAME_CAUSE_EXIT = 1,
	FRAME_CAUSE_SIGNAL,
	FRAME_CAUSE_TIMEOUT,
	FRAME_CAUSE_OOM,
	FRAME_CAUSE_CANCELLED,
	FRAME_CAUSE_CPU
};

/* What is run and within which limits. Pointers are borrowed from the caller (put) or from the
 * payload (get). */
struct frame_job {
	uint32_t timeout_ms;   /* from STARTED */
	uint64_t output_bytes; /* per stream: more is counted, drained and not sent */
	uint32_t cpu_time_s;   /* RLIMIT_CPU of the program */
	uint32_t files_max;    /* files sent back */
	uint64_t files_bytes;  /* all of them */
	uint64_t file_bytes;   /* RLIMIT_FSIZE of the program */
	uint32_t show_last;    /* last_line_interactive */
	const char *main_name; /* "main.py": written by a PUT before GO, never sent back */
	uint32_t main_name_len;
	const char *args; /* JSON text for _args; length 0: none */
	uint32_t args_len;
	const char *argv; /* argument strings, each ended by NUL, without the program's name */
	uint32_t argv_len;
	const char *env; /* NAME=value strings, each ended by NUL */
	uint32_t env_len;
};

struct frame_exit {
	uint32_t cause;			     /* enum frame_cause */
	uint32_t exit_code;		     /* as the shell counts: 128+n after signal n */
	uint32_t signal;		     /* 0: none */
	uint32_t oom;			     /* a process of the container was killed for memory */
	uint64_t wall_us, cpu_us;	     /* of the program */
	uint64_t memory_peak;		     /* bytes, of the container; 0: not known */
	uint64_t stdout_bytes, stderr_bytes; /* all that was written, sent or not */
};

/* Writes a header to head (FRAME_HEAD bytes). */
void frame_head(uint8_t *head, enum frame_type type, uint32_t len);
/* Reads a header: false if the reserved bytes aren't 0 or the length is over FRAME_MAX. */
bool frame_parse_head(const uint8_t *head, uint8_t *out_type, uint32_t *out_len);

/* Payload writer over a fixed buffer; `ok` turns false when something did not fit and stays so. */
struct frame_out {
	uint8_t *buf;
	size_t len, max;
	bool ok;
};
void frame_put_u32(struct frame_out *out, uint32_t v);
void frame_put_u64(struct frame_out *out, uint64_t v);
void frame_put_field(struct frame_out *out, const void *data, size_t len);

/* Payload reader; `ok` turns false at the first read beyond the end and stays so; values read then
 * are 0 / NULL. */
struct frame_in {
	const uint8_t *buf;
	size_t len, pos;
	bool ok;
};
uint32_t frame_get_u32(struct frame_in *in);
uint64_t frame_get_u64(struct frame_in *in);
const char *frame_get_field(struct frame_in *in, uint32_t *out_len);
/* True if everything was read without a failure and nothing is left. */
bool frame_in_done(const struct frame_in *in);

/*
 * A JOB is larger than a frame when args or argv are: its payload travels as several FRAME_JOB
 * frames, each a piece of the text that frame_put_job makes, the last one shorter than FRAME_MAX
 * (maybe empty). FRAME_JOB_MAX bounds the whole.
 */
#define FRAME_JOB_MAX (2 << 20)
void frame_put_job(struct frame_out *out, const struct frame_job *job);
bool frame_get_job(const uint8_t *buf, size_t len, struct frame_job *out);
void frame_put_exit(struct frame_out *out, const struct frame_exit *e);
bool frame_get_exit(const uint8_t *buf, size_t len, struct frame_exit *out);
