/*
 * One HTTP exchange with the engine over libcurl: request out, complete answer in, within the
 * engine's deadline and the caller's cap. Called by engine.c only. It never follows a redirect,
 * never uses a proxy, never speaks anything but HTTP/1.1, and never takes a part for the whole: a
 * missing last chunk or a short body is a failure even with status 200 (trap 5).
 */
#include "docker/engine_http.h"

#include "base/clock.h"
#include "base/err.h"
#include "docker/engine.h"
#include "limits.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

int http_unreachable(const char *host, int sys, struct err *err)
{
	if (sys == EACCES || sys == EPERM)
		return err_sys(err, ERR_ENGINE, sys, "No permission to use the Docker engine at %s",
			       host);
	return err_sys(err, ERR_ENGINE, sys, "No Docker engine answers at %s", host);
}

int http_silent(const char *host, struct err *err)
{
	return err_sys(err, ERR_ENGINE, ETIMEDOUT, "The Docker engine at %s is not responding",
		       host);
}

static size_t take_body(char *data, size_t size, size_t count, void *arg)
{
	struct http_exchange *x = arg;
	size_t len = size * count;

	if (x->fn && x->status >= 200 && x->status < 300) {
		x->ended = x->fn(x->arg, data, len) != 0;
		return x->ended ? 0 : len;
	}
	strbuf_add(&x->answer, data, len);
	return strbuf_ok(&x->answer) ? len : 0;
}

/* The status is needed before the first byte of the body; a header without end is cut off. */
static size_t take_head(char *data, size_t size, size_t count, void *arg)
{
	struct http_exchange *x = arg;
	size_t len = size * count;

	if (len > 12 && !memcmp(data, "HTTP/1.", 7) && data[8] == ' ')
		x->status = (data[9] - '0') * 100 + (data[10] - '0') * 10 + (data[11] - '0');
	x->head_done = len == 2 && !memcmp(data, "\r\n", 2);
	x->head_bytes += len;
	return x->head_bytes <= LIMIT_ENGINE_HEAD ? len : 0;
}

static int fail(struct engine *e, const struct http_exchange *x, CURLcode rc, struct err *err)
{
	long sys = 0;

	switch (rc) {
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
		curl_easy_getinfo(e->curl, CURLINFO_OS_ERRNO, &sys);
		http_unreachable(e->host, sys ? (int)sys : ENXIO, err);
		break;
	case CURLE_OPERATION_TIMEDOUT:
		http_silent(e->host, err);
		break;
	case CURLE_WRITE_ERROR:
		err_sys(err, ERR_ENGINE, EMSGSIZE,
			"The Docker engine's answer is larger than %zu bytes",
			x->head_bytes > LIMIT_ENGINE_HEAD ? (size_t)LIMIT_ENGINE_HEAD
							  : x->answer.max);
		break;
	default:
		err_sys(err, ERR_ENGINE, EPROTO,
			"The Docker engine at %s broke off or garbled its answer", e->host);
	}
	return err_cause(err, "%s %s: %s", x->method, x->path, curl_easy_strerror(rc));
}

static void set_target(CURL *curl, const struct http_address *address, const char *path)
{
	struct strbuf url = STRBUF(LIMIT_ENGINE_HEAD);

	if (address->local) {
		curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, address->path);
		strbuf_addstr(&url, "http://docker");
	} else {
		strbuf_addf(&url, "http://%s:%s", address->node, address->port);
	}
	strbuf_addstr(&url, path);
	curl_easy_setopt(curl, CURLOPT_URL, url.buf); /* libcurl copies it */
	strbuf_clear(&url);
}

static void set_manners(CURL *curl)
{
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	/* Both, because libcurl reads proxies from the environment. */
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "belljar");
}

static void set_method(CURL *curl, const struct http_exchange *x)
{
	if (!strcmp(x->method, "GET")) {
		curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
		return;
	}
	if (x->body || !strcmp(x->method, "POST") || !strcmp(x->method, "PUT")) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body_len);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, x->body ? x->body : "");
	}
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, x->method);
}

/* Without "Expect:" libcurl waits a second for a 100 before a large body, which the engine doesn't
 * send (trap 5). */
static struct curl_slist *request_headers(const struct http_exchange *x)
{
	char type[80];
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");

	snprintf(type, sizeof(type), "Content-Type:%s%s", x->type ? " " : "",
		 x->type ? x->type : "");
	return curl_slist_append(list, type);
}

static CURLcode perform(CURL *curl, struct http_exchange *x, int left_ms)
{
	struct curl_slist *headers = request_headers(x);
	CURLcode rc;

	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)left_ms);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)left_ms);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, x);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_head);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, x);
	rc = curl_easy_perform(curl);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(headers);
	return rc;
}

int http_exchange(struct engine *e, struct http_exchange *x, struct err *err)
{
	struct http_address address;
	const char *type = NULL;
	int left = clock_left(e->deadline_ms);
	CURLcode rc;

	if (http_address(e->host, &address, err) < 0)
		return -1;
	if (left == 0) { /* libcurl takes 0 for "no limit" */
		http_silent(e->host, err);
		return err_cause(err, "%s %s: no time was left for it", x->method, x->path);
	}
	curl_easy_reset(e->curl); /* keeps the connection */
	set_manners(e->curl);
	set_target(e->curl, &address, x->path);
	set_method(e->curl, x);
	rc = perform(e->curl, x, left);
	if (rc == CURLE_OK &&
	    !x->head_done) /* libcurl takes a header that is cut off for a whole one */
		rc = CURLE_GOT_NOTHING;
	if (rc != CURLE_OK && !x->ended)
		return fail(e, x, rc, err);
	curl_easy_getinfo(e->curl, CURLINFO_CONTENT_TYPE, &type);
	x->json = type && !strncasecmp(type, "application/json", 16);
	return 0;
}

const char *http_header(struct engine *e, const char *name)
{
	struct curl_header *header = NULL;

	if (curl_easy_header(e->curl, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return NULL;
	return header->value;
}
