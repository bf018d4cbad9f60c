#pragma once

#include "base/base.h"

#include <json-c/json.h>

struct answer;

/* What the tests ask and do at the Docker engine on their own, beside the service. The engine is
 * DOCKER_HOST's or the usual socket. */
#define DOCK_RUN_NAME "belljar-test"
#define DOCK_INSTANCE_LABEL "com.belljar.instance"
#define DOCK_ID 65

/* Path of the engine's Unix socket; NULL: it is a tcp:// engine. */
const char *dock_socket(void);
/* One call; body is JSON text or NULL. */
void dock_call(const char *method, const char *path, const char *body, struct answer *out);
/* Ids of containers whose instance label is exactly that one, in any state; how many there are (at
 * most max are written). */
size_t dock_list(const char *instance, char (*out_ids)[DOCK_ID], size_t max);
/* Waits until exactly one container of the instance runs, and writes its id; false after
 * TOOL_WAIT_MS. */
bool dock_wait_one(const char *instance, char *out_id);
/* Waits until none is left; false after ms. */
bool dock_wait_none(const char *instance, int ms);
/* The inspect answer, the caller's; NULL: no such container. */
struct json_object *dock_inspect(const char *id);
void dock_remove(const char *id);
/* Creates and starts a container of the tests' own from the service's image: command is JSON
 * ("[\"sleep\",\"60\"]"). False if it fails. */
bool dock_run(const char *instance, const char *command, char *out_id);
/* True if an image of that name is there. */
bool dock_has_image(const char *name);
/* The image jobs run in: $PYTHON_IMAGE or belljar-python. */
const char *dock_image(void);
/* Removes every container, and every volume, whose instance label is the name or begins with it and
 * a '-'. */
void dock_remove_run(const char *name);
/* Removes what runs of long ago, which could not clean up, have left. */
void dock_remove_stale(void);
