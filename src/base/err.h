#pragma once

#include "base/base.h"

/*
 * One failure as a value. It lives on the caller's stack and owns nothing. `text` may be shown to
 * the client: it names the value that was wrong and its limit. `cause` is for the log only.
 *
 * The table behind it (err.c) gives each code its public name, HTTP status, hint, and whether a
 * retry may help.
 */
enum err_code {
	ERR_NONE,
	ERR_BAD_REQUEST,       /* 400 bad_request */
	ERR_BAD_JSON,	       /* 400 bad_json */
	ERR_BAD_MULTIPART,     /* 400 bad_multipart */
	ERR_BAD_NAME,	       /* 400 bad_file_name */
	ERR_BAD_ID,	       /* 400 bad_id */
	ERR_CROSS_SITE,	       /* 403 cross_site: a form of another site */
	ERR_FORBIDDEN,	       /* 403 forbidden: not for this client */
	ERR_NOT_FOUND,	       /* 404 not_found */
	ERR_METHOD,	       /* 405 method_not_allowed */
	ERR_NOT_ACCEPTABLE,    /* 406 not_acceptable */
	ERR_TOO_LARGE,	       /* 413 too_large */
	ERR_MEDIA_TYPE,	       /* 415 unsupported_media_type */
	ERR_INVALID,	       /* 422 invalid_field */
	ERR_UNAVAILABLE_FIELD, /* 422 not_available */
	ERR_BUSY,	       /* 503 busy: no slot before the deadline; retry */
	ERR_ENGINE,	       /* 503 engine_unavailable: retry */
	ERR_IMAGE,	       /* 503 image_missing */
	ERR_SANDBOX, /* 503 sandbox_failed: the container could not be made or was lost before the
			program began; retry */
	ERR_STORE_FULL,	 /* 507 store_full */
	ERR_TIMEOUT,	 /* 408 request_timeout: the request body did not arrive in time */
	ERR_CLIENT_GONE, /* 499, never sent: the log's word for a client that left */
	ERR_INTERNAL,	 /* 500 internal */
	ERR_COUNT
};

struct err {
	enum err_code code;
	int sys;	   /* errno, 0 when there is none */
	int retry_after_s; /* seconds for Retry-After, 0: the table's value for the code */
	char text[240];
	char cause[320];
};

#define ERR_INIT                                                                                   \
	{                                                                                          \
		.code = ERR_NONE                                                                   \
	}

struct err_info {
	const char *name;  /* "bad_request" */
	int status;	   /* HTTP */
	int retry_after_s; /* > 0: waiting helps, and for how long by default */
	const char *hint;  /* the next step, one sentence */
};

/* The table's row; any value of enum err_code. */
const struct err_info *err_info(enum err_code code);

/* Fills err (may be NULL) with text for the client; always returns -1. A longer text is cut. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same, with errno's value and its name in cause. */
int err_sys(struct err *err, enum err_code code, int sys, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Adds a sentence to cause (for the log); always returns -1. */
int err_cause(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
