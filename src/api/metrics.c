/*
 * GET /metrics: what all processes have counted, and how full the store is, in Prometheus' text
 * format 0.0.4. It asks neither keeper nor engine, so it answers when these don't. Only this
 * machine may read it: how busy others' jobs are is nobody's business. Called through the route
 * table.
 */
#include "metrics.h"

#include "api/api.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "store/quota.h"
#include "web/channel.h"
#include "web/response.h"

#include <inttypes.h>
#include <string.h>

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define USEC 1000000

/* As nginx names a peer on this machine; the last is its word for one on a Unix socket. */
static const char *const local_peers[] = { "127.0.0.1", "::1", "::ffff:127.0.0.1", "unix:" };

static const char *const type_names[] = {
	[METRIC_COUNTER] = "counter",
	[METRIC_GAUGE] = "gauge",
	[METRIC_SINCE] = "gauge",
	[METRIC_HISTOGRAM] = "histogram",
};

/* Without a peer's address it is a program on this machine that started or called us. */
static bool is_local(const struct request *req)
{
	const char *peer = channel_param(req->channel, "REMOTE_ADDR");
	if (!peer || !*peer)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(local_peers); i++)
		if (strcmp(peer, local_peers[i]) == 0)
			return true;
	return false;
}

static void add_head(struct strbuf *out, const char *name, const char *help, const char *type)
{
	strbuf_addf(out, "# HELP %s ", name);
	for (; *help; help++) {
		if (*help == '\\' || *help == '\n')
			strbuf_addstr(out, *help == '\n' ? "\\n" : "\\\\");
		else
			strbuf_addch(out, *help);
	}
	strbuf_addf(out, "\n# TYPE %s %s\n", name, type);
}

static void add_label(struct strbuf *out, const char *name, const char *value)
{
	strbuf_addf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			strbuf_addch(out, '\\');
		if (*value == '\n')
			strbuf_addstr(out, "\\n");
		else
			strbuf_addch(out, *value);
	}
	strbuf_addch(out, '"');
}

/* Name and labels of a sample. le: of a histogram's bucket, or NULL. */
static void add_name(struct strbuf *out, enum metric m, const char *suffix, size_t series,
		     const char *le)
{
	const struct metric_label *labels = metrics_table[m].labels;
	char next = '{';
	strbuf_addf(out, "%s%s", metrics_table[m].name, suffix);
	for (size_t i = 0; i < METRIC_LABELS && labels[i].name; i++, next = ',') {
		strbuf_addch(out, next);
		add_label(out, labels[i].name, metrics_value(m, i, series));
	}
	if (le) {
		strbuf_addch(out, next);
		add_label(out, "le", le);
		next = ',';
	}
	strbuf_addstr(out, next == ',' ? "} " : " ");
}

/* Microseconds as seconds, without zeros at the end: 2500 is 0.0025. */
static void seconds_text(uint64_t us, char *out, size_t max)
{
	int len = snprintf(out, max, "%" PRIu64 ".%06" PRIu64, us / USEC, us % USEC);
	while (out[len - 1] == '0')
		len--;
	if (out[len - 1] == '.')
		len--;
	out[len] = '\0';
}

/* Its count is the sum of its buckets, so the two agree though others go on counting. */
static void add_histogram(struct strbuf *out, enum metric m, size_t series, const uint64_t *cells)
{
	uint64_t count = 0;
	char text[48];
	for (size_t i = 0; i <= metrics_bounds_count; i++) {
		if (i < metrics_bounds_count)
			seconds_text((uint64_t)metrics_bounds_us[i], text, sizeof(text));
		count += cells[i];
		add_name(out, m, "_bucket", series, i < metrics_bounds_count ? text : "+Inf");
		strbuf_addf(out, "%" PRIu64 "\n", count);
	}
	seconds_text(cells[metrics_bounds_count + 1], text, sizeof(text));
	add_name(out, m, "_sum", series, NULL);
	strbuf_addf(out, "%s\n", text);
	add_name(out, m, "_count", series, NULL);
	strbuf_addf(out, "%" PRIu64 "\n", count);
}

static void add_series(struct strbuf *out, enum metric m, size_t series, const uint64_t *cells)
{
	int64_t since;
	switch (metrics_table[m].type) {
	case METRIC_HISTOGRAM:
		add_histogram(out, m, series, cells);
		return;
	case METRIC_SINCE:
		since = cells[0] ? MAX(clock_ms() - (int64_t)cells[0], (int64_t)0) : 0;
		add_name(out, m, "", series, NULL);
		strbuf_addf(out, "%" PRId64 ".%03" PRId64 "\n", since / 1000, since % 1000);
		return;
	case METRIC_COUNTER:
	case METRIC_GAUGE:
		add_name(out, m, "", series, NULL);
		strbuf_addf(out, "%" PRIu64 "\n", cells[0]);
	}
}

static void add_counted(struct strbuf *out)
{
	AUTO_FREE uint64_t *cells = metrics_read();
	for (enum metric m = 0; cells && m < METRIC_COUNT; m++) {
		const struct metric_row *row = &metrics_table[m];
		add_head(out, row->name, row->help, type_names[row->type]);
		for (size_t i = 0; i < metrics_series(m); i++)
			add_series(out, m, i, &cells[metrics_at(m, i)]);
	}
}

/* Counters that can't be read are left out: a scrape without them is worth more than none. */
static void add_store(struct strbuf *out)
{
	struct usage all, tenant;
	struct err ignored = ERR_INIT;
	if (quota_read(api_store(), API_TENANT, &all, &tenant, &ignored) < 0)
		return;
	add_head(out, "belljar_stored_files", "Files in the store.", "gauge");
	strbuf_addf(out, "belljar_stored_files %" PRId64 "\n", all.files);
	add_head(out, "belljar_stored_bytes",
		 "Bytes of all files in the store, with what writers have claimed.", "gauge");
	strbuf_addf(out, "belljar_stored_bytes %" PRId64 "\n", all.bytes);
}

static void add_build(struct strbuf *out)
{
	add_head(out, "belljar_build_info", "Always 1; the version stands in the label.", "gauge");
	strbuf_addstr(out, "belljar_build_info{");
	add_label(out, "version", API_VERSION);
	strbuf_addstr(out, "} 1\n");
}

int api_metrics(struct request *req, struct response *res, struct route_times *times,
		struct err *err)
{
	(void)times;

	if (!is_local(req))
		return err_set(err, ERR_FORBIDDEN,
			       "metrics are for clients on the service's own machine");
	add_build(&res->body);
	add_counted(&res->body);
	add_store(&res->body);
	res->content_type = METRICS_TYPE;
	return strbuf_ok(&res->body) ? 0 : err_set(err, ERR_INTERNAL, "the metrics do not fit");
}
