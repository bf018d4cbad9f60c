#pragma once

#include "base/base.h"

struct err;

/*
 * The operator's settings: one struct, one table (conf.c) of environment variables. main writes it
 * once (and again on SIGHUP, in the master and the keeper); everybody else reads.
 */
struct conf {
	char *host; /* HOST: nginx's, for messages */
	int64_t port;
	char *run_dir;	    /* RUN_DIR: sockets and pid file */
	char *service_user; /* SERVICE_USER: who workers and janitor run as */
	char *docker_host;  /* DOCKER_HOST: unix:///path or tcp://host:port */
	char *oci_runtime;  /* OCI_RUNTIME: empty is the engine's default */
	char *python_image; /* PYTHON_IMAGE */
	char *guest_dir;    /* GUEST_DIR: folder with guest and drivers/; empty: the binary's own */
	char *label;   /* INSTANCE: value of the label com.belljar.instance; two services on one
			  engine need two */
	char *sandbox; /* CODE_EXEC_SANDBOX: docker */
	char *optional_limits; /* OPTIONAL_LIMITS: comma list of limits whose absence the operator
				  accepts: memory, swap, pids, cpu */
	int64_t default_timeout_ms, max_timeout_ms;
	int64_t cpu_time_s, memory_mb, max_memory_mb, cpu_milli, max_cpu_milli;
	int64_t pids, max_pids, disk_mb, max_disk_mb, tmp_mb;
	int64_t max_output_bytes, max_request_bytes;
	int64_t max_output_files, max_output_files_mb;
	int64_t jobs, queue,
		queue_timeout_ms;	   /* MAX_CONCURRENT_JOBS, QUEUE_LENGTH, QUEUE_TIMEOUT_MS */
	int64_t pool_size, pool_max_age_s; /* POOL_SIZE, POOL_MAX_AGE_SEC: warm containers */
	char *python_preimport;		   /* PYTHON_PREIMPORT: comma list of modules */
	int64_t workers;		   /* WORKERS: 0 is jobs + queue + a reserve */
	int64_t worker_requests;	   /* WORKER_REQUESTS: recycled after so many */
	char *storage_dir;		   /* FILE_STORAGE_DIR */
	char *web_group; /* WEB_GROUP: may pass through storage_dir to the files it knows */
	int64_t max_file_mb, max_upload_mb, file_ttl_s;
	int64_t files_quota_mb, store_quota_mb; /* of one tenant, of all; 0: no limit */
	char *upload_allow, *upload_deny;	/* UPLOAD_ALLOW, UPLOAD_DENY: wire/mimelist.h */
	char *log_level, *log_format;
};

extern const struct conf *conf;

/* One row of the table, for -T and for the test that compares it with README.md. */
struct conf_row {
	const char *key, *fallback, *help;
	char range[64]; /* "1 to 600000" or "debug, info, warn, error" */
};

/*
 * Fills *out from defaults, then the KEY=value file (path may be NULL), then the environment. A bad
 * value is ERR_INVALID whose text names key, value and range; so is an unknown key in the file, and
 * a combination that cannot work. An empty value counts as not set. The caller ends it with
 * conf_clear; after a failure there is nothing to end.
 */
int conf_load(struct conf *out, const char *path, struct err *err);
void conf_clear(struct conf *c);
/* Makes *c the process's `conf` (borrowed). */
void conf_use(const struct conf *c);
/* Row i of the table or false. */
bool conf_row(size_t i, struct conf_row *out);
/* The size of /tmp and of the workspace that go with a memory limit when the caller names none;
 * both fit below it. */
int64_t conf_tmp_mb(const struct conf *c, int64_t memory_mb);
int64_t conf_disk_mb(const struct conf *c, int64_t memory_mb);
/* Worker processes: slots + queue + reserve unless set. */
int conf_workers(const struct conf *c);
