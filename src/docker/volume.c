/*
 * The volume with the guest: named after the hash of its files, filled once per guest version,
 * compared byte for byte at every start of the service. Called by the SETUP filler. A volume is
 * complete when what the engine reads back equals our files: no marker in it can be right when a
 * crash or a power cut was not. It may be removed while the service runs (docker volume prune);
 * then container_start says ENOENT and the caller comes here again.
 */
#include "docker/volume.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "docker/container.h"
#include "docker/engine.h"
#include "docker/names.h"
#include "docker/parcel.h"
#include "docker/recipe.h"
#include "docker/reply.h"
#include "limits.h"
#include "wire/json.h"

#include <stdio.h>
#include <string.h>

#define HASH_DIGITS 32	 /* of the file hash in the name: 128 bits */
#define SETUP_LIFE_S 120 /* the helper's deadline label: after a crash anybody may remove it */
#define CONFIRM_TRIES 10
#define CONFIRM_PAUSE_MS 100 /* an engine under load takes as long for 200 KiB */
#define TAR_BYTES (LIMIT_GUEST_BYTES + LIMIT_GUEST_FILES * 4096)
#define PATH_BYTES 160

/* Makes it if it isn't there: the engine's create is idempotent, an existing volume keeps its
 * labels. */
static int make_volume(struct engine *e, const char *name, const char *instance, struct err *err)
{
	AUTO_JSON *body = json_object_new_object();
	AUTO_JSON *answer = NULL;
	struct json_object *labels = json_object_new_object();
	int status;

	json_object_object_add(labels, NAME_OWNER, json_object_new_string(NAME_OWNER_VALUE));
	json_object_object_add(labels, NAME_ROLE, json_object_new_string(NAME_ROLE_GUEST));
	json_object_object_add(labels, NAME_INSTANCE, json_object_new_string(instance));
	json_object_object_add(body, "Name", json_object_new_string(name));
	json_object_object_add(body, "Labels", labels);
	if (engine_call(e, "POST", "/volumes/create", body, &status, &answer, err) < 0)
		return -1;
	if (status == 201 || status == 200)
		return 0;
	err_set(err, ERR_SANDBOX, "The volume %s could not be made", name);
	return err_cause(err, "volume: HTTP %d %s", status, engine_message(answer));
}

/* 1: what the volume holds equals the parcel, 0: it doesn't, -1: the engine can't be asked. */
static int compare(struct engine *e, const char *id, const struct parcel *p, struct err *err)
{
	AUTO(strbuf) tar = STRBUF(TAR_BYTES);
	char path[PATH_BYTES];
	int status;

	snprintf(path, sizeof(path), "/containers/%s/archive?path=" RECIPE_GUEST_DIR, id);
	if (engine_fetch(e, path, &tar, &status, err) < 0)
		return -1;
	return status == 200 && parcel_equals(p, tar.buf, tar.len);
}

/* Another service may be filling the same volume with the same files: it is complete when both are
 * done. */
static int confirm(struct engine *e, const char *id, const struct parcel *p, struct err *err)
{
	for (int try = 0; try < CONFIRM_TRIES; try++) {
		int same = compare(e, id, p, err);

		if (same != 0)
			return same < 0 ? -1 : 0;
		clock_wait(clock_ms() + CONFIRM_PAUSE_MS);
	}
	return err_set(err, ERR_SANDBOX,
		       "The guest volume holds other files than were put into it: remove it");
}

static int fill(struct engine *e, const char *id, const struct parcel *p, struct err *err)
{
	AUTO(strbuf) tar = STRBUF(TAR_BYTES);
	char path[PATH_BYTES];
	int status;

	if (parcel_tar(p, &tar, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "/containers/%s/archive?path=" RECIPE_GUEST_DIR, id);
	if (engine_put(e, path, tar.buf, tar.len, &status, err) < 0)
		return -1;
	if (status != 200)
		return err_set(err, ERR_SANDBOX,
			       "The guest's files could not be put into their volume (HTTP %d)",
			       status);
	return confirm(e, id, p, err);
}

static int check_and_fill(struct engine *e, const struct recipe *r, const struct parcel *p,
			  struct err *err)
{
	char id[CONTAINER_ID];
	int rc;

	if (container_create_setup(e, r, id, err) < 0)
		return -1;
	rc = compare(e, id, p, err);
	if (rc == 0)
		rc = fill(e, id, p, err);
	/* A helper that stays is harmless, labelled, and found by the next reconciliation. */
	container_remove(e, id, NULL);
	return rc < 0 ? -1 : 0;
}

int volume_guest(struct engine *e, const char *guest_dir, const char *image, const char *instance,
		 char *out_name, struct err *err)
{
	AUTO(parcel) p = { 0 };
	struct recipe r = { .image = image,
			    .instance = instance,
			    .oci_runtime = "",
			    .deadline_wall_s = clock_wall_ms() / 1000 + SETUP_LIFE_S };
	char name[VOLUME_NAME], hash[HASH_DIGITS + 1];

	if (parcel_load(&p, guest_dir, err) < 0)
		return -1;
	parcel_hash(&p, hash, sizeof(hash));
	snprintf(name, sizeof(name), "belljar-guest-%s", hash);
	r.volume = name;
	if (make_volume(e, name, instance, err) < 0 || check_and_fill(e, &r, &p, err) < 0)
		return -1;
	memcpy(out_name, name, sizeof(name));
	return 0;
}
