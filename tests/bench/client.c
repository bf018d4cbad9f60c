/*
 * The HTTP client of the bench programs: one call, one job, and the wait until a service and the
 * machine are at rest. It measures a job's time and judges whether its answer is right.
 */
#include "bench/client.h"

#include "base/clock.h"
#include "base/strbuf.h"
#include "wire/json.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENT_BYTES (512L << 10) /* the client shall cost both sides as little as it can */
#define ANSWER_MAX (4 << 20)	  /* more than two capped streams, escaped */
#define METRICS_MAX (1 << 20)
#define SETTLE_MS 15000 /* four containers and what they import take about five seconds */
#define LOOK_MS 100	/* 20 ticks of the kernel's clock on two processors */
#define BUSY_PERCENT 15 /* two of 20 ticks: this program and the metrics are among them */
#define POOL "belljar_pool_containers{state=\""

NORETURN void bench_fail(const char *what, const char *detail)
{
	fflush(stdout);
	fprintf(stderr, "bench: %s: %.300s\n", what, detail);
	exit(1);
}

struct sink {
	struct client_call *call;
	struct strbuf *out;
};

static size_t keep(char *data, size_t size, size_t count, void *arg)
{
	struct sink *sink = arg;

	sink->call->received += (int64_t)(size * count);
	if (!sink->call->discard)
		strbuf_add(sink->out, data, size * count);
	return size * count;
}

static void set_options(CURL *c, const struct client_call *call, struct sink *sink)
{
	curl_easy_setopt(c, CURLOPT_URL, call->url);
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)CLIENT_CALL_MS);
	curl_easy_setopt(c, CURLOPT_BUFFERSIZE, CLIENT_BYTES);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, sink);
	if (call->body) {
		curl_easy_setopt(c, CURLOPT_UPLOAD_BUFFERSIZE, CLIENT_BYTES);
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, call->body->buf);
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body->len);
	}
	curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, call->method);
}

long client_call(struct client_call *call, struct strbuf *out)
{
	CURL *c = curl_easy_init();
	struct curl_slist *head = curl_slist_append(NULL, "Expect:");
	struct sink sink = { call, out };
	long status = 0;

	call->received = 0;
	if (call->header)
		head = curl_slist_append(head, call->header);
	set_options(c, call, &sink);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, head);
	CURLcode rc = curl_easy_perform(c);
	if (rc == CURLE_OK)
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	else
		strbuf_addstr(out, curl_easy_strerror(rc));
	curl_slist_free_all(head);
	curl_easy_cleanup(c);
	return status;
}

long client_must(struct client_call *call, struct strbuf *out)
{
	long status = client_call(call, out);

	if (status == 0)
		bench_fail(call->url, out->buf);
	return status;
}

static struct json_object *member(struct json_object *of, const char *name)
{
	struct json_object *found = NULL;

	json_object_object_get_ex(of, name, &found);
	return found;
}

enum client_job client_execute(const char *base, const char *body, const char *text,
			       int64_t *out_us)
{
	AUTO(strbuf) url = STRBUF(1024), json = STRBUF(1 << 16), answer = STRBUF(ANSWER_MAX);

	strbuf_addf(&url, "%s/v1/execute", base);
	strbuf_addstr(&json, body);
	struct client_call call = { .method = "POST",
				    .url = url.buf,
				    .header = "Content-Type: application/json",
				    .body = &json };
	int64_t start = clock_us();
	long status = client_call(&call, &answer);

	if (out_us)
		*out_us = clock_us() - start;
	AUTO_JSON *root = status == 200 ? json_tokener_parse(answer.buf) : NULL;
	const char *output = json_object_get_string(member(root, "stdout"));
	if (!output || !strstr(output, text))
		return CLIENT_ERROR;
	return json_object_get_boolean(member(member(root, "sandbox"), "warm")) ? CLIENT_WARM
										: CLIENT_COLD;
}

/* A metric without decimals; -1: it isn't there. */
static long metric(const char *text, const char *series)
{
	const char *at = strstr(text, series);

	return at ? strtol(at + strlen(series), NULL, 10) : -1;
}

static bool full(const char *base, int pool)
{
	AUTO(strbuf) url = STRBUF(1024), text = STRBUF(METRICS_MAX);

	strbuf_addf(&url, "%s/metrics", base);
	struct client_call call = { .method = "GET", .url = url.buf };
	if (client_must(&call, &text) != 200)
		bench_fail(url.buf, text.buf);
	return metric(text.buf, POOL "warm\"} ") == pool &&
	       metric(text.buf, POOL "warming\"} ") == 0 &&
	       metric(text.buf, "\nbelljar_jobs_running ") == 0 &&
	       metric(text.buf, "\nbelljar_jobs_queued ") == 0;
}

/* Ticks of all processors since the start: busy ones, and all. */
static void ticks(uint64_t *out_busy, uint64_t *out_all)
{
	char line[512] = "";
	FILE *f = fopen("/proc/stat", "re");

	if (!f || !fgets(line, sizeof(line), f))
		bench_fail("cannot read", "/proc/stat");
	fclose(f);
	*out_busy = *out_all = 0;
	char *at = line + strlen("cpu"), *end;
	for (int i = 0; i < 8; i++, at = end) {
		uint64_t n = strtoull(at, &end, 10);

		*out_all += n;
		if (i != 3 && i != 4) /* idle, and idle with a disk at work */
			*out_busy += n;
	}
}

static bool at_rest(void)
{
	uint64_t busy, all, busy_then, all_then;

	ticks(&busy_then, &all_then);
	clock_wait(clock_ms() + LOOK_MS);
	ticks(&busy, &all);
	return all > all_then && (busy - busy_then) * 100 <= (all - all_then) * BUSY_PERCENT;
}

bool client_settle(const char *const *bases, int pool)
{
	int64_t deadline = clock_ms() + SETTLE_MS;

	while (clock_ms() < deadline) {
		bool ready = at_rest();

		for (const char *const *base = bases; ready && *base; base++)
			ready = full(*base, pool);
		if (ready)
			return true;
	}
	return false;
}
