/*
 * With -I this name hides the C library's <limits.h>: hand it through, each time, because the
 * compiler's own comes back here on its way to the library's. That is why there is a guard and no
 * `#pragma once`.
 */
#include_next <limits.h>

#ifndef BELLJAR_LIMITS_H
#define BELLJAR_LIMITS_H

/* Every compile-time maximum, with the reason for its size. What an operator may set is in conf.c.
 */

/* Requests */
#define LIMIT_JSON_DEPTH 64 /* deeper than any field; args may nest freely below it */
#define LIMIT_JSON_KEYS                                                                            \
	100000 /* members in all, bounds the duplicate check; an engine's list of 1,000 containers \
		  has 60,000 */
#define LIMIT_JSON_VALUES                                                                          \
	(1 << 20) /* values in all: each takes some 64 bytes as a tree, two in the text */
#define LIMIT_CODE_BYTES (4 << 20) /* a program of 4 MiB; data belongs into files */
#define LIMIT_STDIN_BYTES (16 << 20)
#define LIMIT_ARGS_BYTES (1 << 20)   /* args as JSON text */
#define LIMIT_ARGV 256		     /* arguments */
#define LIMIT_ARGV_BYTES (128 << 10) /* all of them; the kernel's MAX_ARG_STRLEN for one */
#define LIMIT_ENV 128
#define LIMIT_ENV_BYTES (64 << 10)
#define LIMIT_FILES 256 /* input files of one job */
#define LIMIT_PATH_BYTES 1024
#define LIMIT_PATH_DEPTH 16
#define LIMIT_NAME_BYTES 255 /* NAME_MAX of every file system in use */
#define LIMIT_REQUEST_ID 64
#define LIMIT_URI_BYTES 4096
#define LIMIT_PROBLEMS 32 /* problems listed in one 422 */

/* Guest protocol */
#define LIMIT_FRAME_BYTES (64 << 10) /* payload of one frame: one pipe's worth */
#define LIMIT_SKIPPED 64	     /* files named in `skipped` */

/* Engine */
#define LIMIT_ENGINE_JSON                                                                          \
	(8 << 20) /* an answer of the engine kept in memory: a list of 1,000 containers is about 2 \
		     MiB */
#define LIMIT_ENGINE_HEAD (16 << 10) /* status line and header of a hijacked answer */

/* Web side of a request */
#define LIMIT_READ_MS                                                                              \
	30000 /* silence of the web server while it sends a body: nginx has the body whole before  \
		 it calls */
#define LIMIT_BODY_MS 60000 /* the whole body, beyond what its size takes at LIMIT_BODY_RATE */
#define LIMIT_BODY_RATE                                                                            \
	1000 /* bytes a millisecond: a disk that is slower holds workers too long                  \
	      */
#define LIMIT_PIECE_BYTES                                                                          \
	(256 << 10) /* of a body at once: file systems take large pieces at half the cost of 64    \
		       KiB ones */
#define LIMIT_WRITE_MS 30000 /* silence of the web server while it takes an answer */
#define LIMIT_DRAIN_MS                                                                             \
	2000 /* an unread body is dropped for so long, so that the answer is seen: nginx takes a   \
		connection that ends early for a failure */
#define LIMIT_HEADER_VALUE                                                                         \
	1400 /* of a header we send: a name of LIMIT_NAME_BYTES twice, once with each byte as %XX  \
	      */

/* A job's stages as a worker waits for them; the worker's longest wait is their sum plus queue and
 * timeout_ms */
#define LIMIT_LEASE_MS                                                                             \
	60000 /* a container's start on a busy engine, on top of the time in the queue */
#define LIMIT_KEEPER_MS 5000 /* a keeper that died is back within a second or two */
#define LIMIT_STATUS_MS 2000 /* the keeper answers from memory; below the 5 s of health probes */
#define LIMIT_STAGE_MS 30000 /* all input files into the workspace and the program's start */
#define LIMIT_GRACE_MS                                                                             \
	5000 /* kill, drain and verdict after the program's own deadline, on a machine under load  \
	      */
#define LIMIT_COLLECT_MS 30000 /* all files back */

/* Answers */
#define LIMIT_MIME_BYTES                                                                           \
	4096 /* what libmagic looks at: 64 KiB of line ends cost it 300 ms of CPU */

/* The least a job can be given: below it the interpreter does not start */
#define LIMIT_MEMORY_MIN_MB 32
#define LIMIT_PIDS_MIN 4 /* guest, program, and what a subprocess call needs */
#define LIMIT_CPU_MIN_MILLI 50
#define LIMIT_TMP_MIN_MB 4 /* interpreters and libraries keep small files there */

/* Processes */
#define LIMIT_WORKER_RESERVE                                                                       \
	4 /* workers that answer health and status while all slots run and the queue is full */

/* The container's recipe. An inode of a tmpfs takes about 1 KiB of the container's memory. */
#define LIMIT_WORKSPACE_INODES 16384 /* a large package unpacked has about 10,000 files */
#define LIMIT_TMP_INODES 4096
#define LIMIT_SHM_INODES 1024 /* semaphores and arrays of multiprocessing */
#define LIMIT_SHM_MB 64	      /* the engine's own default for /dev/shm */
#define LIMIT_NOFILE 1024     /* select() works up to it */
#define LIMIT_OOM_SCORE 500   /* of 1000: before any service, which has 0 or less */

/* The guest's files on their way into the volume */
#define LIMIT_GUEST_FILES 64
#define LIMIT_GUEST_BYTES (8 << 20) /* the guest is below 200 KiB, drivers are scripts */

/* Processes */
#define LIMIT_FCGI_BACKLOG                                                                         \
	1024 /* requests that wait for a worker; well above any number of workers */
#define LIMIT_KEEPER_BACKLOG 1024 /* one connection for each worker at most */
#define LIMIT_STOP_WORKER_MS                                                                       \
	10000 /* a running request may end by itself; service managers wait 90 s, compose 10 s */
#define LIMIT_STOP_KEEPER_MS 20000 /* after the workers: the removal of their containers */
#define LIMIT_STOP_DRAIN_MS 18000  /* the keeper's own end, before it would be killed */

/* The keeper's patience with one conversation of a filler */
#define LIMIT_MAKE_MS                                                                              \
	30000 /* a container, on an engine under heavy load; below LIMIT_LEASE_MS with one more    \
		 try */
#define LIMIT_UPDATE_MS                                                                            \
	5000 /* other limits for a warm container: half of what a new one takes, or not worth it   \
	      */
#define LIMIT_OLD_MS                                                                               \
	120000 /* a warm container beyond its age, when none can be made in its place */
/* On a machine with few CPUs the engine's work for a removal or a new container would double what a
 * warm job takes. So it waits while jobs of a few milliseconds run, if nobody waits for it. */
#define LIMIT_CALM_MS 25    /* after a container was handed out: most small jobs are over then */
#define LIMIT_ANSWER_MS 5   /* after a lease: its answer is on the way */
#define LIMIT_LINGER_MS 250 /* the longest that a removal is put off */
#define LIMIT_REFILLS                                                                              \
	2 /* warm containers in the making at once: an engine makes about one per CPU at a time,   \
	     and jobs go before the pool */
#define LIMIT_PREIMPORT_BYTES 1024  /* PYTHON_PREIMPORT: some fifty names of modules */
#define LIMIT_REFILL_PAUSE_MS 10000 /* between two attempts, when none succeeds */
#define LIMIT_SETUP_MS 20000	    /* the guest's volume: half a second when it has to be filled */
#define LIMIT_REMOVE_MS 20000	    /* the engine kills, unmounts and deletes; tried again after */
#define LIMIT_SWEEP_MS 10000
#define LIMIT_LOOK_MS 1000 /* the engine's status; below LIMIT_STATUS_MS with what follows */
#define LIMIT_LATE_MS 300  /* from a filler's deadline, which it knows, to its SIGKILL */
#define LIMIT_ASK_MS 1000  /* from a connection to its question, which is one small packet */
/* What a job may last beyond timeout_ms: its files in and out, and the worker's patience with the
 * guest. */
#define LIMIT_STAGES_MS (LIMIT_STAGE_MS + LIMIT_GRACE_MS + LIMIT_COLLECT_MS)
#define LIMIT_HOLD_MS 30000 /* a lease beyond the time that was asked for: its worker hangs */

/* Forms and uploads */
#define LIMIT_BOUNDARY_BYTES 70 /* RFC 2046 section 5.1.1 */
#define LIMIT_PARTS 320		/* LIMIT_FILES files and every field there is */
#define LIMIT_PART_HEAD                                                                            \
	(16 << 10) /* header of one part: a name of 5,000 bytes still gets the answer of its own   \
		      rule */
#define LIMIT_SPARE_FIELD_BYTES                                                                    \
	(64 << 10) /* a field that an upload reads past; no client sends more beside its files */
#define LIMIT_FIELD_NAME_BYTES 128 /* no field of ours has more than 24 */
#define LIMIT_PARAMS 16		   /* parameters of one header line; a form needs three */
#define LIMIT_QUERY_PARAMS 32	   /* of one address; no route reads more than four */

/* Store */
#define LIMIT_TENANT_BYTES 64
#define LIMIT_MIME_TYPE_BYTES 127 /* RFC 6838: 63 + "/" + 63 */
#define LIMIT_META_BYTES                                                                           \
	(8 << 10)		  /* a name of LIMIT_PATH_BYTES, escaped, and seven short members */
#define LIMIT_TENANT_FILES 100000 /* of one tenant: a folder each, so some 400 MiB of disk */
#define LIMIT_STORE_FILES 1000000
#define LIMIT_LIST 1000 /* files of one page: about 400 KiB of JSON */
#define LIMIT_CLAIM_BYTES                                                                          \
	(1 << 20) /* quota is claimed in such steps: one lock for each MiB written */
#define LIMIT_CLAIM_FIRST (64 << 10)
#define LIMIT_STORE_LOCK_MS                                                                        \
	5000 /* the quota's lock is held for microseconds, by a sweep for the time of one scan */
#define LIMIT_STALE_MS                                                                             \
	60000 /* a temporary folder without an owner may be one that was made just now */
#define LIMIT_DAMAGED_MS                                                                           \
	86400000 /* a stored file whose description cannot be read has no expiry of its own */

#endif
