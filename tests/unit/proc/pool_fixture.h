#pragma once

#include "conf.h"
#include "proc/keeper.h"

/* A keeper with an empty pool and an engine that nobody reaches; its fillers end in failure and
 * nobody reads that. */
extern struct keeper *pool_k;
extern struct conf pool_conf; /* its settings, which tests may change */
void pool_open(void);
void pool_close(void);
/* What a job gets that names no limits. */
struct lease_limits pool_usual(void);
/* A box as the pool makes it; out_end: the container's side of its stream, NULL for WARMING. */
struct box *pool_add(enum box_state state, int *out_end);
struct box *pool_add_warm(void);
/* A queued client; out_end: the worker's side of its connection. */
struct keeper_client *pool_queue(const char *tenant, struct lease_limits limits, int *out_end);
int pool_count(enum box_state state);
int pool_fillers(enum filler_kind kind);
/* The grant that lies in the worker's end. */
struct lease_grant pool_granted(int end, int *out_stream);
