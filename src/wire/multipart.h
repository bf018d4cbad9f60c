#pragma once

#include "base/base.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "wire/multipart_head.h"

/*
 * Push parser of multipart/form-data (RFC 7578, boundaries by RFC 2046 section 5.1). Bytes go in as
 * they come, in pieces of any size; the events and the error are the same for every cutting, but
 * that `data` comes in other pieces. Memory is constant: one part's header at most.
 *
 * A part's `end` says that the part is whole, not that the body is: a later error, or
 * multipart_finish, may still refuse all of it. What was stored by then is for the caller to undo.
 */
struct multipart_events {
	/* Each returns 0, or -1 with err filled, which ends the parse with that error. */
	int (*begin)(void *arg, const struct multipart_head *head, struct err *err);
	int (*data)(void *arg, const void *data, size_t len, struct err *err); /* len > 0 */
	int (*end)(void *arg, struct err *err);
};

/* What a body may hold. Over one of them: ERR_TOO_LARGE, whose text names the limit. */
struct multipart_limits {
	int64_t body_bytes;    /* all of it, with boundaries and headers */
	const char *body_name; /* the setting behind it, borrowed: "MAX_REQUEST_BYTES" */
	int64_t field_bytes;   /* one part that is no file; a file's cap is the writer's
				  (blob_write.h) */
	size_t parts;	       /* at most LIMIT_PARTS makes sense */
	bool empty_filename;   /* filename="" is passed on: a form whose file input was left empty
				  sends that, with no bytes */
};

enum multipart_state {
	MULTIPART_PREAMBLE, /* before the first boundary */
	MULTIPART_BODY,	    /* content of a part */
	MULTIPART_AFTER,    /* behind a boundary: CRLF, "--" or blanks */
	MULTIPART_PADDING,  /* blanks after a boundary */
	MULTIPART_DASH,	    /* one of the two dashes */
	MULTIPART_LF,	    /* the CR of the boundary's line */
	MULTIPART_HEAD,
	MULTIPART_EPILOGUE, /* after the last boundary; whatever it is */
	MULTIPART_FAILED
};

struct multipart {
	const struct multipart_events *events;
	void *arg;
	struct multipart_limits limits;
	enum multipart_state state;
	char delim[4 + LIMIT_BOUNDARY_BYTES + 1]; /* CR LF "--" boundary */
	size_t delim_len;
	size_t matched; /* bytes of delim seen at the end of what was pushed */
	size_t unsent;	/* of those, how many at the beginning are not content if the match fails */
	struct strbuf text; /* the header so far */
	struct multipart_head head;
	int64_t body_bytes, part_bytes;
	size_t parts;
	struct err failure; /* what MULTIPART_FAILED repeats */
};

/*
 * Prepares for the body of a request with this Content-Type. events and arg are borrowed for the
 * parser's life. ERR_BAD_MULTIPART: not multipart/form-data, no boundary, or one that RFC 2046 does
 * not allow. On failure nothing needs to be cleared.
 */
int multipart_init(struct multipart *m, const char *content_type,
		   const struct multipart_limits *limits, const struct multipart_events *events,
		   void *arg, struct err *err);
/* After -1 every further call repeats the same error. */
int multipart_push(struct multipart *m, const void *data, size_t len, struct err *err);
/* To be called at the end of the body: ERR_BAD_MULTIPART unless the closing boundary was there. */
int multipart_finish(struct multipart *m, struct err *err);
void multipart_clear(struct multipart *m);
