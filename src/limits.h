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

/* Forms and uploads */
#define LIMIT_BOUNDARY_BYTES 70        /* RFC 2046 section 5.1.1 */
#define LIMIT_PARTS 320                /* LIMIT_FILES files and every field there is */
#define LIMIT_PART_HEAD (16 << 10)     /* header of one part: a name of 5,000 bytes still gets the answer of its own rule */
#define LIMIT_FIELD_NAME_BYTES 128     /* no field of ours has more than 24 */
#define LIMIT_PARAMS 16                /* parameters of one header line; a form needs three */
#define LIMIT_QUERY_PARAMS 32          /* of one address; no route reads more than four */

/* Store */
#define LIMIT_TENANT_BYTES 64
#define LIMIT_MIME_TYPE_BYTES 127      /* RFC 6838: 63 + "/" + 63 */
#define LIMIT_META_BYTES (8 << 10)     /* a name of LIMIT_PATH_BYTES, escaped, and seven short members */
#define LIMIT_LIST 1000                /* files of one page: about 400 KiB of JSON */
#define LIMIT_CLAIM_BYTES (1 << 20)    /* quota is claimed in such steps: one lock for each MiB written */
#define LIMIT_STORE_LOCK_MS 5000       /* the quota's lock is held for microseconds, by a sweep for the time of one scan */
#define LIMIT_STALE_MS 60000           /* a temporary folder without an owner may be one that was made just now */
#define LIMIT_DAMAGED_MS 86400000      /* a stored file whose description cannot be read has no expiry of its own */
