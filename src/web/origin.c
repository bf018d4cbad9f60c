/*
 * Who may post without a key: the service's own pages and programs, not pages of other sites.
 * Called by the worker's loop for every request, before its handler. It believes only headers that
 * a page cannot set (Fetch standard, forbidden request-headers).
 */
#include "web/origin.h"

#include "base/err.h"
#include "web/channel.h"
#include "web/request.h"

#include <string.h>
#include <strings.h>

/* Content types that need no preflight (Fetch standard, CORS-safelisted), and none at all. */
static bool is_simple(const struct request *req)
{
	return req->method == METHOD_POST &&
	       (req->content_type[0] == '\0' || request_content_is(req, "multipart/form-data") ||
		request_content_is(req, "application/x-www-form-urlencoded") ||
		request_content_is(req, "text/plain"));
}

/* "https://host:port" is of the host "host:port"; "null" is of none. */
static bool is_same_host(const char *origin, const char *host)
{
	const char *slashes = strstr(origin, "://");

	return slashes && host && strcasecmp(slashes + 3, host) == 0;
}

int origin_check(const struct request *req, struct err *err)
{
	const char *site = channel_param(req->channel, "HTTP_SEC_FETCH_SITE");
	const char *origin = channel_param(req->channel, "HTTP_ORIGIN");
	bool own;

	if (!is_simple(req))
		return 0;
	if (site && *site)
		own = strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
	else
		own = !origin || !*origin ||
		      is_same_host(origin, channel_param(req->channel, "HTTP_HOST"));
	return own ? 0
		   : err_set(err, ERR_CROSS_SITE,
			     "forms of other sites are not taken (origin %.100s)",
			     origin && *origin ? origin : "unknown");
}
