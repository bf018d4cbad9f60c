#pragma once

#include "base/base.h"

struct err;
struct strbuf;

/*
 * The guest's files in memory, in a fixed order: what goes into the guest volume. Files are owned
 * by root, mode 0555 (the guest) or 0444, folders 0555. At most LIMIT_GUEST_FILES entries and
 * LIMIT_GUEST_BYTES in all.
 */
struct parcel_item {
	char *path; /* relative: "guest", "drivers", "drivers/x.py" */
	bool folder;
	char *data;
	size_t len;
};
struct parcel {
	struct parcel_item *items;
	size_t count, bytes;
};

/* Reads `guest` and `drivers/` (with its folders; no __pycache__, nothing that begins with a dot)
 * below dir. ERR_INTERNAL names what can't be read. */
int parcel_load(struct parcel *p, const char *dir, struct err *err);
void parcel_clear(struct parcel *p);
/* The first size - 1 digits of the SHA-256 over all names, kinds and bytes. */
void parcel_hash(const struct parcel *p, char *out, size_t size);
/* Appends an uncompressed tar of all items. */
int parcel_tar(const struct parcel *p, struct strbuf *out, struct err *err);
/* True if the tar holds exactly our items, below one top folder of any name (trap 20); the tar is a
 * stranger's. */
bool parcel_equals(const struct parcel *p, const void *tar, size_t len);
