/*
 * What is known about an image. Called by fillers (status) and info.c. It never pulls or builds:
 * that is the operator's step, not a request's.
 */
#include "docker/image.h"

#include "base/alloc.h"
#include "base/err.h"
#include "docker/engine.h"
#include "docker/names.h"
#include "docker/reply.h"
#include "wire/json.h"

#include <string.h>

/* Names as registries know them: host:port/path:tag@digest. Keeps the name from leaving its place
 * in the path. */
static bool name_ok(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@";

	return *name && strlen(name) < 256 && name[strspn(name, allowed)] == '\0' &&
	       !strstr(name, "..") && *name != '/';
}

int image_inspect(struct engine *e, const char *name, struct image *out, struct err *err)
{
	AUTO_FREE char *path = xasprintf("/images/%s/json", name);
	AUTO_JSON *answer = NULL;
	int status;

	if (!name_ok(name))
		return err_set(err, ERR_IMAGE, "%.100s is no name of an image", name);
	if (engine_call(e, "GET", path, NULL, &status, &answer, err) < 0)
		return -1;
	if (status == 404)
		return err_set(
			err, ERR_IMAGE,
			"Image %.100s is not present on the engine: build it with `make images`",
			name);
	if (status != 200) {
		err_set(err, ERR_ENGINE, "Image %.100s could not be inspected", name);
		return err_cause(err, "image: HTTP %d %s", status, engine_message(answer));
	}
	*out = (struct image){ .size_bytes = reply_int(answer, "Size") };
	reply_copy(answer, "Id", out->id, sizeof(out->id));
	reply_copy(answer, "Created", out->created, sizeof(out->created));
	reply_copy(reply_get(answer, "Config/Labels"), NAME_IMAGE_VERSION, out->version,
		   sizeof(out->version));
	return 0;
}
