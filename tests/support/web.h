#pragma once

#include "base/base.h"

struct answer;

/* HTTP by libcurl: to nginx over TCP and to the Docker engine over its socket. */
struct web_request {
	const char *method;    /* NULL: POST with a body, GET without */
	const char *unix_path; /* NULL: TCP */
	const char *url;       /* http://... */
	const void *body;
	size_t len;
	const char *const *headers; /* "Name: value" lines; NULL-ended; with a body and no
				       Content-Type it is JSON's */
	int ms;			    /* 0: 60 s */
};
void web_call(const struct web_request *r, struct answer *out);
