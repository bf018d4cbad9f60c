/*
 * One HTTP call by libcurl, no redirects, no proxies, no environment. Used for nginx and for
 * questions to the Docker engine that the tests ask on their own.
 */
#include "support/web.h"

#include "base/clock.h"
#include "support/answer.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define CALL_MS 60000

static size_t on_body(char *data, size_t one, size_t len, void *arg)
{
	struct answer *a = arg;
	strbuf_add(&a->body, data, one * len);
	return one * len;
}

static size_t on_head(char *data, size_t one, size_t len, void *arg)
{
	struct answer *a = arg;
	size_t n = len;
	while (n && (data[n - 1] == '\n' || data[n - 1] == '\r'))
		n--;
	strbuf_add(&a->head, data, n);
	strbuf_addch(&a->head, '\n');
	return one * len;
}

static bool has_type(const char *const *headers)
{
	for (; headers && *headers; headers++)
		if (strncasecmp(*headers, "Content-Type:", 13) == 0)
			return true;
	return false;
}

static struct curl_slist *header_list(const struct web_request *r)
{
	/* Expect: an interim 100 would be one more round trip, and one more header block to take
	 * apart. */
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");
	if (r->body && !has_type(r->headers))
		list = curl_slist_append(list, "Content-Type: application/json");
	for (size_t i = 0; r->headers && r->headers[i]; i++)
		list = curl_slist_append(list, r->headers[i]);
	return list;
}

static void set_options(CURL *c, const struct web_request *r, struct answer *out)
{
	curl_easy_setopt(c, CURLOPT_URL, r->url);
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)(r->ms ? r->ms : CALL_MS));
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, out);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, out);
	if (r->unix_path)
		curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, r->unix_path);
	if (r->body) {
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, r->body);
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)r->len);
	}
	if (r->method && strcmp(r->method, "HEAD") == 0)
		curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
	else if (r->method)
		curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r->method);
}

void web_call(const struct web_request *r, struct answer *out)
{
	int64_t start = clock_ms();
	CURL *c = curl_easy_init();
	struct curl_slist *headers = header_list(r);
	set_options(c, r, out);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	CURLcode rc = curl_easy_perform(c);
	long status = 0;
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	out->status = rc == CURLE_OK ? (int)status : 0;
	if (rc != CURLE_OK)
		snprintf(out->problem, sizeof(out->problem), "%s", curl_easy_strerror(rc));
	out->ms = clock_ms() - start;
	answer_parse_body(out);
	curl_slist_free_all(headers);
	curl_easy_cleanup(c);
}
