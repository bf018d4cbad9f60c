/*
 * The table of failures and the three ways to fill a struct err. Everybody returns errors through
 * here; one place in the workers turns them into a response. Texts may hold a client's bytes, so
 * whatever goes into one is made valid UTF-8 without control characters first.
 */
#include "base/err.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct err_info err_table[ERR_COUNT] = {
	[ERR_NONE] = { "ok", 200, 0, "Nothing is wrong." },
	[ERR_BAD_REQUEST] = { "bad_request", 400, 0,
			      "Correct what `message` names in the request and send it again." },
	[ERR_BAD_JSON] = { "bad_json", 400, 0,
			   "Send one JSON object in UTF-8, with double quotes and without "
			   "comments, "
			   "repeated names or trailing commas." },
	[ERR_BAD_MULTIPART] = { "bad_multipart", 400, 0,
				"Send multipart/form-data with a boundary as HTML forms do, and "
				"end it "
				"with the closing boundary." },
	[ERR_BAD_NAME] = { "bad_file_name", 400, 0,
			   "Send the plain name of the file, without folders or control "
			   "characters." },
	[ERR_BAD_ID] = { "bad_id", 400, 0, "Use the id exactly as the service returned it." },
	[ERR_CROSS_SITE] = { "cross_site", 403, 0,
			     "Send the form from a page of this service, or send JSON." },
	[ERR_FORBIDDEN] = { "forbidden", 403, 0, "Ask from the machine that the service runs on." },
	[ERR_NOT_FOUND] = { "not_found", 404, 0,
			    "Check the path or the id; what has expired has to be made again." },
	[ERR_METHOD] = { "method_not_allowed", 405, 0,
			 "Use one of the methods that the Allow header lists." },
	[ERR_NOT_ACCEPTABLE] = { "not_acceptable", 406, 0,
				 "Send `Accept: application/json` or no Accept header." },
	[ERR_TOO_LARGE] = { "too_large", 413, 0,
			    "Send less than the limit named in `message`, for instance in several "
			    "calls." },
	[ERR_MEDIA_TYPE] = { "unsupported_media_type", 415, 0,
			     "Send what `message` says is taken here." },
	[ERR_INVALID] = { "invalid_field", 422, 0,
			  "Correct what `message` names and send the request again." },
	[ERR_UNAVAILABLE_FIELD] = { "not_available", 422, 0,
				    "Leave the field out; this version of the service cannot do "
				    "it." },
	[ERR_BUSY] = { "busy", 503, 2,
		       "The service has its hands full; send the same request again after the time "
		       "in Retry-After." },
	[ERR_ENGINE] = { "engine_unavailable", 503, 5,
			 "The container engine does not answer; try again later, or let the "
			 "operator look at "
			 "/v1/docker/status." },
	[ERR_IMAGE] = { "image_missing", 503, 0,
			"The operator has to build or load the image; /v1/docker/status says which "
			"one." },
	[ERR_SANDBOX] = { "sandbox_failed", 503, 1,
			  "The program was not started; send the same request again." },
	[ERR_STORE_FULL] = { "store_full", 507, 60,
			     "Delete files that are no longer needed, or wait until old ones "
			     "expire." },
	[ERR_TIMEOUT] = { "request_timeout", 408, 0,
			  "Send the whole body without long pauses, or send a smaller one." },
	[ERR_CLIENT_GONE] = { "client_gone", 499, 0, "The client closed the connection." },
	[ERR_INTERNAL] = { "internal", 500, 0,
			   "This is a fault of the service; tell the operator the request id." },
};

const struct err_info *err_info(enum err_code code)
{
	if ((unsigned)code >= ERR_COUNT)
		code = ERR_INTERNAL;
	return &err_table[code];
}

/* Bytes of the character at s, 0 if none that may be shown begins there. */
static size_t shown_char(const char *s, size_t left)
{
	unsigned char lead = (unsigned char)s[0];
	size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

	if (lead < 0x20 || lead == 0x7f || n > left || !utf8_valid(s, n))
		return 0;
	/* U+0080 to U+009F are control characters too. */
	return n == 2 && lead == 0xc2 && (unsigned char)s[1] < 0xa0 ? 0 : n;
}

/* Cuts at a character and replaces every byte that is not part of a printable one. */
static void make_plain(char *s)
{
	size_t len = utf8_cut(s, strlen(s), strlen(s));

	s[len] = '\0';
	for (size_t i = 0; i < len;) {
		size_t n = shown_char(s + i, len - i);

		if (n == 0) {
			s[i] = '?';
			n = 1;
		}
		i += n;
	}
}

static void reset(struct err *err, enum err_code code)
{
	err->code = code;
	err->sys = 0;
	err->retry_after_s = 0;
	err->text[0] = err->cause[0] = '\0';
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	reset(err, code);
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	make_plain(err->text);
	return -1;
}

int err_sys(struct err *err, enum err_code code, int sys, const char *fmt, ...)
{
	const char *name = strerrorname_np(sys), *words = strerrordesc_np(sys);
	va_list ap;

	if (!err)
		return -1;
	reset(err, code);
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	make_plain(err->text);
	err->sys = sys;
	if (name && words)
		return err_cause(err, "%s: %s", name, words);
	return err_cause(err, "errno %d", sys);
}

int err_cause(struct err *err, const char *fmt, ...)
{
	size_t len;
	va_list ap;

	if (!err)
		return -1;
	len = strlen(err->cause);
	if (len && len + 2 < sizeof(err->cause)) {
		memcpy(err->cause + len, "; ", 3);
		len += 2;
	}
	va_start(ap, fmt);
	vsnprintf(err->cause + len, sizeof(err->cause) - len, fmt, ap);
	va_end(ap);
	make_plain(err->cause);
	return -1;
}
