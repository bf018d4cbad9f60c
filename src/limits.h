#pragma once

/* Every compile-time maximum, with the reason for its size. What an operator may set is in conf.c. */

/* Requests */
#define LIMIT_JSON_DEPTH 64            /* deeper than any field; args may nest freely below it */
#define LIMIT_JSON_KEYS 20000          /* members in all, bounds the duplicate check */
#define LIMIT_CODE_BYTES (4 << 20)     /* a program of 4 MiB; data belongs into files */
#define LIMIT_STDIN_BYTES (16 << 20)
#define LIMIT_ARGS_BYTES (1 << 20)     /* args as JSON text */
#define LIMIT_ARGV 256                 /* arguments */
#define LIMIT_ARGV_BYTES (128 << 10)   /* all of them; the kernel's MAX_ARG_STRLEN for one */
#define LIMIT_ENV 128
#define LIMIT_ENV_BYTES (64 << 10)
#define LIMIT_FILES 256                /* input files of one job */
#define LIMIT_PATH_BYTES 1024
#define LIMIT_PATH_DEPTH 16
#define LIMIT_NAME_BYTES 255           /* NAME_MAX of every file system in use */
#define LIMIT_REQUEST_ID 64
#define LIMIT_URI_BYTES 4096
#define LIMIT_PROBLEMS 32              /* problems listed in one 422 */

/* Guest protocol */
#define LIMIT_FRAME_BYTES (64 << 10)   /* payload of one frame: one pipe's worth */
#define LIMIT_SKIPPED 64               /* files named in `skipped` */

/* Engine */
#define LIMIT_ENGINE_JSON (8 << 20)    /* an answer of the engine kept in memory: a list of 1,000 containers is about 2 MiB */
#define LIMIT_ENGINE_HEAD (16 << 10)   /* status line and header of a hijacked answer */
