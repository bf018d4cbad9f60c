#pragma once

#include "base/base.h"

struct err;

/*
 * What the service counts. The table in metrics.c gives each its name, help and labels: a new one
 * is one row there and one name here, with its labels. Any part of the service may add to them; GET
 * /metrics shows them. Before metrics_open, and in a process that has no row, adding does nothing.
 */
enum metric {
	METRIC_REQUESTS, /* route, class */
	METRIC_REQUEST_BYTES,
	METRIC_RESPONSE_BYTES,
	METRIC_JOBS,		  /* language, status */
	METRIC_JOB_REJECTIONS,	  /* cause */
	METRIC_JOB_STAGE_SECONDS, /* stage */
	METRIC_UPLOAD_REJECTIONS, /* cause */
	METRIC_JOBS_RUNNING,
	METRIC_JOBS_QUEUED,
	METRIC_JOB_SLOTS,
	METRIC_POOL_CONTAINERS, /* state */
	METRIC_POOL_OLDEST,
	METRIC_POOL_TAKES, /* result */
	METRIC_POOL_LOST,
	METRIC_CONTAINER_SECONDS, /* step */
	METRIC_ENGINE_ERRORS,	  /* task */
	METRIC_LEAKED_CONTAINERS,
	METRIC_PROCESSES,     /* role */
	METRIC_ROLE_RESTARTS, /* role */
	METRIC_COUNT
};

enum metric_type {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_SINCE,	 /* a gauge that is set to a moment (clock_ms) and shows the seconds since;
			    0: there is none, and it shows 0 */
	METRIC_HISTOGRAM /* of microseconds; shows seconds */
};

#define METRIC_LABELS 2
struct metric_label {
	const char *name;	   /* NULL: no such label */
	const char *const *values; /* NULL-ended. A text that is not among them counts as the last
				      one if that is "other", else not at all */
};
struct metric_row {
	const char *name;
	enum metric_type type;
	const char *help; /* one sentence */
	struct metric_label labels[METRIC_LABELS];
};
extern const struct metric_row metrics_table[METRIC_COUNT];

/* Upper bounds of a histogram's buckets, microseconds, rising; the last bucket has none. */
extern const int64_t metrics_bounds_us[];
extern const size_t metrics_bounds_count;

/* The most rows: the most workers there can be (WORKERS, or slots, queue and reserve), the other
 * roles, and the master. */
#define METRICS_PLACES 4096

/* The memory that is shared by all that this process forks. ERR_INTERNAL. */
int metrics_open(struct err *err);
void metrics_close(void);
/* The master, before it forks a process for that place: its row is one that is shown. */
void metrics_reach(size_t place);
/* Says which row this process writes to from now on; nobody else may have it at the same time. */
void metrics_place(size_t place);
/* The process of that place has ended: what it said of the present (gauges) is no more true. Its
 * counts stay. */
void metrics_ended(size_t place);

/* a, b: values of the metric's labels; NULL where it has none. */
void metrics_add(enum metric m, const char *a, const char *b, uint64_t n);
void metrics_set(enum metric m, const char *a, uint64_t value);
void metrics_observe(enum metric m, const char *a, int64_t us);

/* For whoever shows them. Combinations of label values: b runs fastest. */
size_t metrics_series(enum metric m);
/* The value of a label in a series; NULL: it has no such label. */
const char *metrics_value(enum metric m, size_t label, size_t series);
/* Cells of one series: 1; of a histogram its buckets (each for itself, not cumulative) and the sum
 * in microseconds. */
size_t metrics_cells(enum metric m);
/* All cells of all processes, the caller's to free; NULL: metrics_open was not called here. */
uint64_t *metrics_read(void);
/* The first cell of a series in that. */
size_t metrics_at(enum metric m, size_t series);
