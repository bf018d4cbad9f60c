#pragma once

#include "base/strbuf.h"
#include "store/blob.h"

struct answer;
struct front;
struct service;

/* Uploads and questions about what is really on the disk, for the suites of /v1/files. */

#define UPLOADS_BODY_MAX (32 << 20)

/* Ends the form in `body`, posts it to /v1/files through nginx, and empties it. */
void uploads_send(struct front *web, struct strbuf *body, struct answer *out);
/* One file, which must come in; its id, IDENT_UUID bytes. */
void uploads_put(struct front *web, const char *filename, const void *data, size_t len,
		 char *out_id);
/* The same with len bytes that depend on `seed`; the answer as it comes. */
void uploads_fill(struct front *web, const char *filename, size_t len, unsigned seed,
		  struct answer *out);
/* The bytes of uploads_fill. */
void uploads_bytes(struct strbuf *out, size_t len, unsigned seed);
/* METHOD /v1/files/<id> through nginx. */
void uploads_at(struct front *web, const char *method, const char *id, struct answer *out);

/* Regular files below FILE_STORAGE_DIR, half-written ones too, but for the counters. */
int uploads_on_disk(const struct service *s);
/* Waits until there are none, and the service's counters say so. */
void uploads_want_nothing(const struct service *s);
/* Wants that many files in the list, and nothing else on the disk. */
void uploads_want_listed(const struct service *s, struct front *web, size_t count);
