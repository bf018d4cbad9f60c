#pragma once

#include "base/base.h"

#include <sys/stat.h>

struct store;

/* Walks over the store. fn returns false to stop; what comes or goes meanwhile may be seen or not.
 */
typedef bool (*scan_fn)(void *arg, int dir_fd, const char *name);

/* Every entry of a folder (dir_fd is borrowed) but the two dots. */
void scan_entries(int dir_fd, scan_fn fn, void *arg);
/* Every tenant: dir_fd is the store's. */
void scan_tenants(const struct store *s, scan_fn fn, void *arg);
/* Every stored file of a tenant: dir_fd is the folder of two digits, name a well-formed id. */
void scan_files(const struct store *s, const char *tenant, scan_fn fn, void *arg);
/* Every entry of the tenant's tmp folder. */
void scan_temps(const struct store *s, const char *tenant, scan_fn fn, void *arg);
/* Looks at the regular file `part` in the folder `id`, without opening it. False if there is none.
 */
bool scan_stat(int dir_fd, const char *id, const char *part, struct stat *out);
