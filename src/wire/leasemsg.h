#pragma once

#include "base/base.h"
#include "base/err.h"
#include "limits.h"

/*
 * The fixed-size messages between a worker and the keeper (SOCK_SEQPACKET), and between a filler
 * and the keeper (socketpair). Host byte order: both ends are one binary on one machine. A message
 * of another length, magic or version closes the connection.
 */
#define LEASE_MAGIC 0x424a4c31u /* "BJL1" */

enum lease_kind { LEASE_TAKE = 1, LEASE_STATUS };

/* What a job may use. All are checked by the keeper against the operator's maxima. */
struct lease_limits {
	uint32_t memory_mb, cpu_milli, pids, disk_mb, tmp_mb;
};

/* Worker to keeper. */
struct lease_ask {
	uint32_t magic;
	uint32_t kind;	  /* enum lease_kind */
	uint32_t wait_ms; /* how long the worker will wait for a slot */
	uint32_t run_ms;  /* the longest the job may last; the keeper removes what is held much
			     longer */
	uint32_t made;	  /* 1: no container that has waited; the last such one was dead */
	struct lease_limits limits;
	char tenant[LIMIT_TENANT_BYTES + 4]; /* whose job it is, NUL-terminated; + 4: no padding */
};

/* Keeper to worker, answer to LEASE_TAKE; with exactly one descriptor when code is ERR_NONE. */
struct lease_grant {
	uint32_t magic;
	uint32_t code; /* enum err_code */
	uint32_t retry_after_s;
	uint32_t queue_ms, start_ms;
	uint32_t warm;
	char id[65];	 /* container id, hex, NUL */
	char engine[32]; /* the engine's name, empty: not known yet */
	char text[240];	 /* for the client when code is set */
	char cause[320]; /* for the log */
};

/* Keeper to worker, answer to LEASE_STATUS: what the engine's last look said. All texts
 * NUL-terminated. */
struct lease_status {
	uint32_t magic;
	uint32_t installed, running, image_exists, limits_ok;
	uint32_t slots, leased, queued;
	char engine[32], engine_version[48], api_version[16], oci_runtime[32], cgroup[16], os[96];
	char image[256];
	char problem[240], fix[240]; /* empty: all is well */
};

/* True if every field is in its range and every text ends within its array. */
bool lease_ask_ok(const struct lease_ask *ask);
bool lease_grant_ok(const struct lease_grant *grant);
bool lease_status_ok(const struct lease_status *status);
