#pragma once

#include "base/base.h"

/*
 * The service's rules for paths in the workspace (base/path.h), which the guest applies on its
 * side: relative, no empty,
 * "." or ".." component, valid UTF-8 without control characters, within LIMIT_PATH_BYTES,
 * LIMIT_PATH_DEPTH and LIMIT_NAME_BYTES.
 */
bool names_path_ok(const char *path, size_t len);
/* One component. */
bool names_component_ok(const char *name, size_t len);
/* Makes any bytes fit for a message: what is not allowed in a path becomes '?'. */
void names_scrub(char *path, size_t len);
