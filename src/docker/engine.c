/*
 * The conversation with the engine: opening it with a negotiated API version, and calls that speak
 * JSON. Called by the other files of docker/ and by fillers. It knows HTTP statuses and JSON, but
 * nothing of containers; engine_http.c moves the bytes, engine_raw.c has the hijacked calls.
 */
#include "docker/engine.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/num.h"
#include "docker/engine_http.h"
#include "docker/reply.h"
#include "limits.h"
#include "wire/json.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>

#define VERSION_PART_MAX 9999 /* "1.41": either side of the dot */
#define STREAM_DEPTH 64	      /* nesting of an engine's JSON; /info, the deepest, has 8 */

/* "1.41" as 1 * 10000 + 41, -1 when it is no version. */
static int64_t version_number(const char *text)
{
	const char *dot = text ? strchr(text, '.') : NULL;
	char major[8];
	int64_t high, low;

	if (!dot || (size_t)(dot - text) >= sizeof(major))
		return -1;
	memcpy(major, text, (size_t)(dot - text));
	major[dot - text] = '\0';
	if (!num_int(major, 0, VERSION_PART_MAX, &high) ||
	    !num_int(dot + 1, 0, VERSION_PART_MAX, &low))
		return -1;
	return high * (VERSION_PART_MAX + 1) + low;
}

static int versioned(struct engine *e, const char *path, struct strbuf *out, struct err *err)
{
	strbuf_addf(out, "/v%s%s", e->api, path);
	if (!strbuf_ok(out))
		return err_set(err, ERR_INTERNAL, "A path for the engine is longer than %zu bytes",
			       out->max);
	return 0;
}

/* The whole of buf as one JSON value; NULL if it isn't. */
static struct json_object *parse(const char *buf, size_t len)
{
	struct json_tokener *tok = json_tokener_new_ex(STREAM_DEPTH);
	struct json_object *value = json_tokener_parse_ex(tok, buf, (int)len);
	size_t end = json_tokener_get_parse_end(tok);

	if (value && end + strspn(buf + end, " \t\r\n") != len) {
		json_object_put(value);
		value = NULL;
	}
	json_tokener_free(tok);
	return value;
}

const char *engine_message(struct json_object *answer)
{
	const char *text = reply_text(answer, "message");

	return *text ? text : "(no reason given)";
}

/* An error that isn't JSON (trap 3, proxies) becomes the JSON that others are, so that callers know
 * one form. */
static struct json_object *as_message(const struct strbuf *text)
{
	struct json_object *answer = json_object_new_object();

	json_object_object_add(
		answer, "message",
		json_object_new_string_len(text->buf, (int)MIN(text->len, (size_t)300)));
	return answer;
}

static int read_answer(const struct http_exchange *x, bool wanted, struct json_object **out,
		       struct err *err)
{
	*out = x->answer.len ? parse(x->answer.buf, x->answer.len) : NULL;
	if (*out || x->answer.len == 0)
		return 0;
	if (x->status >= 400) {
		*out = as_message(&x->answer);
		return 0;
	}
	if (!wanted && !x->json)
		return 0;
	err_sys(err, ERR_ENGINE, EPROTO, "The Docker engine's answer is not complete JSON");
	return err_cause(err, "%s %s: HTTP %d, %zu bytes", x->method, x->path, x->status,
			 x->answer.len);
}

/* 5xx: the engine was reached and failed; err->sys stays 0, which tells it from a broken way to it.
 */
static int engine_failed(const struct http_exchange *x, struct json_object *answer, struct err *err)
{
	err_set(err, ERR_ENGINE, "The Docker engine failed with HTTP status %d", x->status);
	return err_cause(err, "%s %s: %s", x->method, x->path, engine_message(answer));
}

static int converse(struct engine *e, struct http_exchange *x, int *out_status,
		    struct json_object **out_answer, struct err *err)
{
	AUTO_JSON *answer = NULL;

	if (http_exchange(e, x, err) < 0 || read_answer(x, out_answer != NULL, &answer, err) < 0)
		return -1;
	if (x->status >= 500)
		return engine_failed(x, answer, err);
	if (x->status < 200) {
		err_sys(err, ERR_ENGINE, EPROTO, "The Docker engine gave no final answer");
		return err_cause(err, "%s %s: HTTP %d", x->method, x->path, x->status);
	}
	*out_status = x->status;
	if (out_answer)
		*out_answer = steal(&answer);
	return 0;
}

int engine_call(struct engine *e, const char *method, const char *path, struct json_object *body,
		int *out_status, struct json_object **out_answer, struct err *err)
{
	AUTO(strbuf) full = STRBUF(LIMIT_ENGINE_HEAD);
	struct http_exchange x = { .method = method, .answer = STRBUF(LIMIT_ENGINE_JSON) };
	int rc;

	if (versioned(e, path, &full, err) < 0)
		return -1;
	x.path = full.buf;
	if (body) {
		size_t len = 0;

		x.type = "application/json";
		x.body = json_object_to_json_string_length(
			body, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
		x.body_len = len;
	}
	rc = converse(e, &x, out_status, out_answer, err);
	strbuf_clear(&x.answer);
	return rc;
}

int engine_put(struct engine *e, const char *path, const void *data, size_t len, int *out_status,
	       struct err *err)
{
	AUTO(strbuf) full = STRBUF(LIMIT_ENGINE_HEAD);
	AUTO_JSON *answer = NULL;
	struct http_exchange x = { .method = "PUT",
				   .type = "application/x-tar",
				   .body = data,
				   .body_len = len,
				   .answer = STRBUF(LIMIT_ENGINE_JSON) };
	int rc;

	if (versioned(e, path, &full, err) < 0)
		return -1;
	x.path = full.buf;
	rc = converse(e, &x, out_status, NULL, err);
	if (rc == 0 && x.status >= 400) {
		answer = parse(x.answer.buf, x.answer.len);
		err_cause(err, "PUT %s: HTTP %d %s", path, x.status, engine_message(answer));
	}
	strbuf_clear(&x.answer);
	return rc;
}

int engine_fetch(struct engine *e, const char *path, struct strbuf *out, int *out_status,
		 struct err *err)
{
	AUTO(strbuf) full = STRBUF(LIMIT_ENGINE_HEAD);
	struct http_exchange x = { .method = "GET", .answer = STRBUF(out->max) };
	int rc;

	if (versioned(e, path, &full, err) < 0)
		return -1;
	x.path = full.buf;
	rc = http_exchange(e, &x, err);
	if (rc == 0 && x.status >= 500)
		rc = engine_failed(&x, NULL, err);
	if (rc == 0) {
		*out_status = x.status;
		strbuf_reset(out);
		strbuf_add(out, x.answer.buf, x.answer.len);
	}
	strbuf_clear(&x.answer);
	return rc;
}

/* The state of a stream of JSON values: what the last cut left is inside the tokener. */
struct stream {
	struct json_tokener *tok;
	size_t held; /* bytes of the value that is not complete yet */
	bool garbled;
	int (*fn)(struct json_object *, void *);
	void *arg;
};

/* Between values: white space, and the record separators of application/json-seq (RFC 7464). */
static size_t skip_gap(const struct stream *s, const char *data, size_t len)
{
	size_t i = 0;

	while (s->held == 0 && i < len && data[i] && strchr(" \t\r\n\x1e", data[i]))
		i++;
	return i;
}

static int push_stream(void *arg, const void *bytes, size_t len)
{
	struct stream *s = arg;
	const char *data = bytes;

	while (len > 0) {
		size_t gap = skip_gap(s, data, len), used;
		struct json_object *value;
		int stop;

		data += gap, len -= gap;
		if (len == 0)
			break;
		value = json_tokener_parse_ex(s->tok, data, (int)len);
		used = json_tokener_get_parse_end(s->tok);
		s->held = value ? 0 : s->held + used;
		s->garbled = !value && (json_tokener_get_error(s->tok) != json_tokener_continue ||
					s->held > LIMIT_ENGINE_JSON);
		if (s->garbled)
			return 1;
		data += used, len -= used;
		if (!value)
			continue;
		json_tokener_reset(s->tok);
		stop = s->fn(value, s->arg);
		json_object_put(value);
		if (stop)
			return 1;
	}
	return 0;
}

static int end_stream(const struct stream *s, const struct http_exchange *x, struct err *err)
{
	if (x->status >= 300) {
		AUTO_JSON *answer = parse(x->answer.buf, x->answer.len);

		err_set(err, ERR_ENGINE, "The Docker engine refused a stream with HTTP status %d",
			x->status);
		return err_cause(err, "%s %s: %s", x->method, x->path, engine_message(answer));
	}
	if (s->garbled || (s->held && !x->ended)) {
		err_sys(err, ERR_ENGINE, EPROTO, "The Docker engine's stream is not complete JSON");
		return err_cause(err, "%s %s", x->method, x->path);
	}
	return 0;
}

int engine_stream(struct engine *e, const char *method, const char *path,
		  int (*fn)(struct json_object *, void *), void *arg, struct err *err)
{
	AUTO(strbuf) full = STRBUF(LIMIT_ENGINE_HEAD);
	struct stream s = { .fn = fn, .arg = arg };
	struct http_exchange x = {
		.method = method, .fn = push_stream, .arg = &s, .answer = STRBUF(LIMIT_ENGINE_JSON)
	};
	int rc;

	if (versioned(e, path, &full, err) < 0)
		return -1;
	x.path = full.buf;
	s.tok = json_tokener_new_ex(STREAM_DEPTH);
	rc = http_exchange(e, &x, err);
	if (rc == 0)
		rc = end_stream(&s, &x, err);
	json_tokener_free(s.tok);
	strbuf_clear(&x.answer);
	return rc;
}

/* An unversioned question of the negotiation. */
static int ask(struct engine *e, const char *path, struct http_exchange *x, struct err *err)
{
	x->method = "GET";
	x->path = path;
	strbuf_reset(&x->answer);
	if (http_exchange(e, x, err) < 0)
		return -1;
	if (x->status >= 500)
		return engine_failed(x, NULL, err);
	if (x->status != 200) {
		err_sys(err, ERR_ENGINE, EPROTO, "What answers at %s is not a Docker engine",
			e->host);
		return err_cause(err, "GET %s: HTTP %d", path, x->status);
	}
	return 0;
}

/* The engine's minimum is only in /version, which runs other programs there and takes 15 ms: asked
 * only when our maximum could lie below it. */
static int check_minimum(struct engine *e, struct http_exchange *x, const char *newest,
			 struct err *err)
{
	AUTO_JSON *answer = NULL;
	int64_t minimum;

	if (ask(e, "/version", x, err) < 0)
		return -1;
	answer = parse(x->answer.buf, x->answer.len);
	minimum = version_number(reply_text(answer, "MinAPIVersion"));
	if (minimum < 0)
		return err_sys(err, ERR_ENGINE, EPROTO,
			       "The Docker engine does not say its oldest API version");
	if (minimum > version_number(ENGINE_API_MAX))
		return err_sys(err, ERR_ENGINE, EPROTONOSUPPORT,
			       "The Docker engine is too new: it speaks API %s to %s, the newest "
			       "known here is %s",
			       reply_text(answer, "MinAPIVersion"), newest, ENGINE_API_MAX);
	return 0;
}

static int negotiate(struct engine *e, struct http_exchange *x, struct err *err)
{
	char newest[sizeof(e->api)];
	const char *header;
	int64_t number;

	if (ask(e, "/_ping", x, err) < 0)
		return -1;
	header = http_header(e, "Api-Version");
	number = version_number(header);
	if (number < 0 || strlen(header) >= sizeof(newest))
		return err_sys(err, ERR_ENGINE, EPROTO, "What answers at %s is not a Docker engine",
			       e->host);
	memcpy(newest, header, strlen(header) + 1);
	e->podman = http_header(e, "Libpod-Api-Version") != NULL;
	if (number < version_number(ENGINE_API_MIN))
		return err_sys(err, ERR_ENGINE, EPROTONOSUPPORT,
			       "The Docker engine is too old: it speaks API %s, %s is needed",
			       newest, ENGINE_API_MIN);
	if (number > version_number(ENGINE_API_MAX)) {
		if (check_minimum(e, x, newest, err) < 0)
			return -1;
		memcpy(newest, ENGINE_API_MAX, sizeof(ENGINE_API_MAX));
	}
	memcpy(e->api, newest, sizeof(newest));
	return 0;
}

void engine_prepare(void)
{
	curl_global_init(CURL_GLOBAL_NOTHING);
}

int engine_open(struct engine *e, const char *host, int64_t deadline_ms, struct err *err)
{
	struct http_exchange x = { .answer = STRBUF(LIMIT_ENGINE_JSON) };
	int rc;

	*e = (struct engine){ .deadline_ms = deadline_ms };
	curl_global_init(CURL_GLOBAL_NOTHING);
	e->curl = curl_easy_init();
	e->host = xstrdup(host);
	if (!e->curl) {
		engine_close(e);
		return err_set(err, ERR_INTERNAL, "libcurl could not be started");
	}
	rc = negotiate(e, &x, err);
	strbuf_clear(&x.answer);
	if (rc < 0)
		engine_close(e);
	return rc;
}

void engine_close(struct engine *e)
{
	if (!e->host)
		return;
	curl_easy_cleanup(e->curl);
	curl_global_cleanup();
	free(e->host);
	*e = (struct engine){ 0 };
}
