#pragma once

#include "base/base.h"

struct blob;
struct strbuf;

/* What the handlers of /v1/files share (files.c, files_upload.c). */

/* Writes one stored file as a JSON object: file_id, filename, size_bytes, mime_type, sha256,
 * upload_time, expires_at (null: never), without the closing bracket. */
void files_add(struct strbuf *out, const struct blob *b);
