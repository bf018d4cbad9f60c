#pragma once

#include "base/base.h"
#include "limits.h"
#include "store/blob_write.h"

struct strbuf;

/* What the handlers of /v1/files share with each other and with those of /v1/execute. */

/* What a client may send as one file; texts are the settings'. */
struct blob_rules files_rules(void);
/* One stored file in JSON at most: its name escaped, id, hash, type, numbers, names of members. */
#define FILES_ROW_BYTES (2 * LIMIT_PATH_BYTES + LIMIT_MIME_TYPE_BYTES + 512)

/* Writes one stored file as a JSON object: file_id, filename, size_bytes, mime_type, sha256,
 * upload_time, expires_at (null: never), without the closing bracket. */
void files_add(struct strbuf *out, const struct blob *b);
