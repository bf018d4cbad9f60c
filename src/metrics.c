/*
 * The table of what is counted, and where each count stands in the shared rows (base/tally.h).
 * Every role adds to its own row; api/metrics.c shows the sums. It never decides anything by them:
 * a worker that was taken over can write whatever it likes there.
 */
#include "metrics.h"

#include "base/alloc.h"
#include "base/tally.h"

#include <string.h>

#define VALUES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Names of base/err.c. */
#define JOB_CAUSES                                                                                 \
	VALUES("busy", "engine_unavailable", "image_missing", "sandbox_failed", "client_gone",     \
	       "bad_json", "bad_multipart", "bad_file_name", "bad_id", "not_found", "too_large",   \
	       "unsupported_media_type", "invalid_field", "not_available", "store_full",           \
	       "cross_site", "internal", "other")
#define UPLOAD_CAUSES                                                                              \
	VALUES("too_large", "unsupported_media_type", "store_full", "bad_file_name",               \
	       "bad_multipart", "invalid_field", "cross_site", "busy", "request_timeout",          \
	       "client_gone", "internal", "other")
/* Patterns of api/api.c; "other" is what none of them matches. */
#define ROUTES                                                                                     \
	VALUES("/v1/execute", "/v1/files", "/v1/files/{id}", "/health", "/ready", "/metrics",      \
	       "/v1/docker/status", "/api/tools/docker/status", "other")
#define STATUSES                                                                                   \
	VALUES("ok", "error", "timeout", "oom", "signaled", "cancelled", "setup_failed", "other")
#define TASKS VALUES("setup", "make", "update", "remove", "sweep", "status")
#define ROLES VALUES("keeper", "worker", "janitor")

const struct metric_row metrics_table[METRIC_COUNT] = {
	[METRIC_REQUESTS] = {
		.name = "belljar_requests_total",
		.type = METRIC_COUNTER,
		.help = "Requests by route and class of the answer's status.",
		.labels = { { "route", ROUTES }, { "class", VALUES("2xx", "3xx", "4xx", "5xx") } },
	},
	[METRIC_REQUEST_BYTES] = {
		.name = "belljar_request_bytes_total",
		.type = METRIC_COUNTER,
		.help = "Bytes of request bodies.",
	},
	[METRIC_RESPONSE_BYTES] = {
		.name = "belljar_response_bytes_total",
		.type = METRIC_COUNTER,
		.help = "Bytes of answers, headers included; the web server sends stored files, "
			"which are not counted.",
	},
	[METRIC_JOBS] = {
		.name = "belljar_jobs_total",
		.type = METRIC_COUNTER,
		.help = "Programs that ran, by how they ended.",
		.labels = { { "language", VALUES("python") }, { "status", STATUSES } },
	},
	[METRIC_JOB_REJECTIONS] = {
		.name = "belljar_job_rejections_total",
		.type = METRIC_COUNTER,
		.help = "Jobs whose program did not run, by the error's code.",
		.labels = { { "cause", JOB_CAUSES } },
	},
	[METRIC_JOB_STAGE_SECONDS] = {
		.name = "belljar_job_stage_seconds",
		.type = METRIC_HISTOGRAM,
		.help = "Time of jobs waiting for a slot, getting a container, running, and giving "
			"back files.",
		.labels = { { "stage", VALUES("queue", "start", "run", "collect") } },
	},
	[METRIC_UPLOAD_REJECTIONS] = {
		.name = "belljar_upload_rejections_total",
		.type = METRIC_COUNTER,
		.help = "Uploads that were refused, by the error's code.",
		.labels = { { "cause", UPLOAD_CAUSES } },
	},
	[METRIC_JOBS_RUNNING] = {
		.name = "belljar_jobs_running",
		.type = METRIC_GAUGE,
		.help = "Job slots in use.",
	},
	[METRIC_JOBS_QUEUED] = {
		.name = "belljar_jobs_queued",
		.type = METRIC_GAUGE,
		.help = "Jobs that wait for a slot.",
	},
	[METRIC_JOB_SLOTS] = {
		.name = "belljar_job_slots",
		.type = METRIC_GAUGE,
		.help = "Job slots there are.",
	},
	[METRIC_POOL_CONTAINERS] = {
		.name = "belljar_pool_containers",
		.type = METRIC_GAUGE,
		.help = "Containers that wait for a job, or are being made for that.",
		.labels = { { "state", VALUES("warm", "warming") } },
	},
	[METRIC_POOL_OLDEST] = {
		.name = "belljar_pool_oldest_seconds",
		.type = METRIC_SINCE,
		.help = "For how long the oldest container of the pool has waited.",
	},
	[METRIC_POOL_TAKES] = {
		.name = "belljar_pool_takes_total",
		.type = METRIC_COUNTER,
		.help = "Containers given to jobs: hit, one that had waited; miss, one that was made "
			"meanwhile.",
		.labels = { { "result", VALUES("hit", "miss") } },
	},
	[METRIC_POOL_LOST] = {
		.name = "belljar_pool_lost_total",
		.type = METRIC_COUNTER,
		.help = "Containers that ended or spoke while they waited.",
	},
	[METRIC_CONTAINER_SECONDS] = {
		.name = "belljar_container_seconds",
		.type = METRIC_HISTOGRAM,
		.help = "Time to create a container, to start it until its guest is ready, to change, "
			"to remove it.",
		.labels = { { "step", VALUES("create", "start", "update", "remove") } },
	},
	[METRIC_ENGINE_ERRORS] = {
		.name = "belljar_engine_errors_total",
		.type = METRIC_COUNTER,
		.help = "Conversations with the engine that failed, by their task.",
		.labels = { { "task", TASKS } },
	},
	[METRIC_LEAKED_CONTAINERS] = {
		.name = "belljar_leaked_containers_total",
		.type = METRIC_COUNTER,
		.help = "Containers that nobody knew of, found and removed.",
	},
	[METRIC_PROCESSES] = {
		.name = "belljar_processes",
		.type = METRIC_GAUGE,
		.help = "Processes by role.",
		.labels = { { "role", ROLES } },
	},
	[METRIC_ROLE_RESTARTS] = {
		.name = "belljar_role_restarts_total",
		.type = METRIC_COUNTER,
		.help = "Processes that died or failed, and were replaced.",
		.labels = { { "role", ROLES } },
	},
};

/* From what a warm job's stages take to a program's usual longest time. */
const int64_t metrics_bounds_us[] = { 1000,    2500,	5000,	  10000,    25000,
				      50000,   100000,	250000,	  500000,   1000000,
				      2500000, 5000000, 10000000, 30000000, 60000000 };
const size_t metrics_bounds_count = ARRAY_SIZE(metrics_bounds_us);

static struct tally tally;
static uint64_t *own; /* this process's row, NULL: none */
static size_t first_cell[METRIC_COUNT + 1];

static size_t values_count(const struct metric_label *label)
{
	size_t n = 0;
	while (label->name && label->values[n])
		n++;
	return label->name ? n : 1;
}

size_t metrics_series(enum metric m)
{
	size_t n = 1;
	for (size_t i = 0; i < METRIC_LABELS; i++)
		n *= values_count(&metrics_table[m].labels[i]);
	return n;
}

const char *metrics_value(enum metric m, size_t label, size_t series)
{
	const struct metric_label *labels = metrics_table[m].labels;
	if (!labels[label].name)
		return NULL;
	for (size_t i = METRIC_LABELS - 1; i > label; i--)
		series /= values_count(&labels[i]);
	return labels[label].values[series % values_count(&labels[label])];
}

size_t metrics_cells(enum metric m)
{
	return metrics_table[m].type == METRIC_HISTOGRAM ? metrics_bounds_count + 2 : 1;
}

size_t metrics_at(enum metric m, size_t series)
{
	return first_cell[m] + series * metrics_cells(m);
}

int metrics_open(struct err *err)
{
	for (enum metric m = 0; m < METRIC_COUNT; m++)
		first_cell[m + 1] = first_cell[m] + metrics_series(m) * metrics_cells(m);
	return tally_open(&tally, METRICS_PLACES, first_cell[METRIC_COUNT], err);
}

void metrics_close(void)
{
	own = NULL;
	tally_close(&tally);
}

void metrics_reach(size_t place)
{
	tally_reach(&tally, place + 1);
}

void metrics_place(size_t place)
{
	own = tally_row(&tally, place);
}

void metrics_ended(size_t place)
{
	uint64_t *row = tally_row(&tally, place);
	for (enum metric m = 0; row && m < METRIC_COUNT; m++) {
		if (metrics_table[m].type != METRIC_GAUGE && metrics_table[m].type != METRIC_SINCE)
			continue;
		for (size_t i = first_cell[m]; i < first_cell[m + 1]; i++)
			tally_set(&row[i], 0);
	}
}

/* The place of a text among the values, false when it has none. */
static bool find(const struct metric_label *label, const char *text, size_t *out)
{
	size_t n = values_count(label);
	*out = 0;
	if (!label->name)
		return true;
	for (size_t i = 0; text && i < n; i++)
		if (strcmp(label->values[i], text) == 0) {
			*out = i;
			return true;
		}
	*out = n - 1;
	return strcmp(label->values[n - 1], "other") == 0;
}

/* The cells of a series in this process's row, or NULL. */
static uint64_t *cells_of(enum metric m, const char *a, const char *b)
{
	const struct metric_label *labels = metrics_table[m].labels;
	size_t i, j;
	if (!own || !find(&labels[0], a, &i) || !find(&labels[1], b, &j))
		return NULL;
	return own + metrics_at(m, i * values_count(&labels[1]) + j);
}

void metrics_add(enum metric m, const char *a, const char *b, uint64_t n)
{
	uint64_t *cell = cells_of(m, a, b);
	if (cell)
		tally_add(cell, n);
}

void metrics_set(enum metric m, const char *a, uint64_t value)
{
	uint64_t *cell = cells_of(m, a, NULL);
	if (cell)
		tally_set(cell, value);
}

void metrics_observe(enum metric m, const char *a, int64_t us)
{
	uint64_t *cells = cells_of(m, a, NULL);
	size_t i = 0;
	if (!cells)
		return;
	while (i < metrics_bounds_count && us > metrics_bounds_us[i])
		i++;
	tally_add(&cells[i], 1);
	tally_add(&cells[metrics_bounds_count + 1], (uint64_t)MAX(us, (int64_t)0));
}

uint64_t *metrics_read(void)
{
	if (!tally.cells)
		return NULL;
	uint64_t *out = xcalloc(tally.width, sizeof(*out));
	tally_sum(&tally, out);
	return out;
}
