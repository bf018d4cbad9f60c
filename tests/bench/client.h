#pragma once

#include "base/base.h"

struct strbuf;

/* HTTP as the programs of this folder speak it, to servers of this machine only. */
#define CLIENT_CALL_MS 120000

struct client_call {
	const char *method, *url;
	const char *header;	   /* "Content-Type: ..." or NULL */
	const struct strbuf *body; /* NULL: none */
	bool discard;		   /* the answer's body is not kept: only its bytes count */
	int64_t received;	   /* bytes of the answer's body */
};
/* The status; 0: no answer. A connection of its own each time. The body is appended to out. */
long client_call(struct client_call *call, struct strbuf *out);
/* The same; a call without an answer ends the program. */
long client_must(struct client_call *call, struct strbuf *out);

enum client_job { CLIENT_ERROR, CLIENT_COLD, CLIENT_WARM };
/*
 * POST of JSON text to base/v1/execute. Not CLIENT_ERROR only if the program ran and its output has
 * the text: a fast error is no fast job. *out_us (may be NULL): how long that took.
 */
enum client_job client_execute(const char *base, const char *body, const char *text,
			       int64_t *out_us);

/*
 * Waits until each service (NULL-ended list of bases) has its pool full, no job and nothing being
 * made, and until the machine's processors have little to do, for what a waiting Python imports is
 * in no metric. False when that doesn't come within a time: the measurement goes on.
 */
bool client_settle(const char *const *bases, int pool);
NORETURN void bench_fail(const char *what, const char *detail);
