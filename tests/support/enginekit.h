#pragma once

#include "base/base.h"
#include "docker/container.h"
#include "docker/engine.h"
#include "docker/recipe.h"
#include "docker/volume.h"

struct err;

/*
 * What the tests of src/docker share: a guest folder with a shell script as guest (the image's own
 * shell runs it), a recipe around it, and steps that end the test when they fail. Everything made
 * carries kit_instance(), which the runner's cleanup removes.
 */
struct kit {
	struct engine engine;
	struct recipe recipe;
	char volume[VOLUME_NAME];
	char *guest_dir;
};

const char *kit_instance(void);
const char *kit_host(void); /* the real engine's, as DOCKER_HOST */
/* A folder with guest and drivers/; `mark` makes its contents, so its volume's name, unlike
 * others'. The caller's. */
char *kit_guest_dir(const char *mark);
/* Opens the engine at host and fills the guest volume through the real one. kit_end closes;
 * containers stay for the cleanup. */
void kit_begin(struct kit *k, const char *host);
void kit_end(struct kit *k);
/* container_create that must succeed. */
void kit_create(struct kit *k, char *out_id);
/* create, attach, start, and the script's first line; returns the attach descriptor. */
int kit_start(struct kit *k, char *out_id);
/*
 * Reads the attach stream until its unwrapped bytes end with `end` (NULL: until the end of the
 * stream); 10 s. The text, the caller's.
 */
char *kit_read(int fd, const char *end);
/* True if the engine knows the container. */
bool kit_exists(const char *id);
/* Runs fn in n processes at once, each with an engine of its own; true if all return 0. */
bool kit_at_once(int n, int (*fn)(struct engine *e, const char *arg), const char *arg);
/* The part is in the text, or isn't. */
void kit_has(const char *text, const char *part);
void kit_has_not(const char *text, const char *part);
