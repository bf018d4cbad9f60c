#pragma once

#include "base/base.h"

struct blob;
struct err;

/* meta.json of one stored file, in the folder dir_fd; its time of change is the time of expiry,
 * which spares sweeps to read it. */
int blob_meta_save(int dir_fd, const struct blob *b, struct err *err);
/*
 * Reads `<id>/meta.json` below dir_fd and compares it with `<id>/content`. ERR_NOT_FOUND: not
 * there, or not what blob_meta_save writes, or of another size than the content. The caller ends
 * *out with blob_clear, after success.
 */
int blob_meta_load(int dir_fd, const char *id, struct blob *out, struct err *err);
