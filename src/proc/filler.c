/*
 * The filler: a child of the keeper for one conversation with the engine: prepare the guest's
 * volume, make one ready container, change the limits of one, remove one, list ours, or look at the
 * engine's health. It blocks as it likes, since only its own deadline is hurt; the keeper kills it
 * when that passes. It holds the pair to the keeper and nothing else, and reports by fixed-size
 * messages. Never speaks to clients.
 */
#include "proc/filler.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "conf.h"
#include "docker/container.h"
#include "docker/engine.h"
#include "docker/info.h"
#include "docker/recipe.h"
#include "limits.h"
#include "proc/hello.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct filler {
	const struct filler_task *task;
	int sock;
	struct engine engine;
	struct filler_report report;
};

/* Sends the report as `word`; a keeper that is gone needs none, and the next one sweeps. */
static int send_report(struct filler *f, enum filler_word word, int fd)
{
	struct err err = ERR_INIT;
	f->report.magic = LEASE_MAGIC;
	f->report.word = word;
	return io_send_fd(f->sock, &f->report, sizeof(f->report), fd, &err);
}

static int send_done(struct filler *f, const struct err *err, int fd)
{
	f->report.code = err->code;
	f->report.retry_after_s = (uint32_t)err->retry_after_s;
	snprintf(f->report.text, sizeof(f->report.text), "%s", err->text);
	snprintf(f->report.cause, sizeof(f->report.cause), "%s", err->cause);
	return send_report(f, FILLER_DONE, fd);
}

/* GUEST_DIR, else where the binary lies: `guest` and `drivers/` are built and installed beside it.
 */
static int guest_dir(char *out, size_t size, struct err *err)
{
	if (conf->guest_dir[0]) {
		snprintf(out, size, "%s", conf->guest_dir);
		return 0;
	}
	ssize_t len = readlink("/proc/self/exe", out, size - 1);
	if (len < 0)
		return err_sys(err, ERR_INTERNAL, errno,
			       "GUEST_DIR is not set and the binary's folder is not known.");
	out[len] = '\0';
	char *slash = strrchr(out, '/');
	if (slash)
		*slash = '\0';
	return 0;
}

static int do_setup(struct filler *f, struct err *err)
{
	char dir[LIMIT_PATH_BYTES];
	if (guest_dir(dir, sizeof(dir), err) < 0)
		return -1;
	return volume_guest(&f->engine, dir, conf->python_image, conf->label, f->report.volume,
			    err);
}

/* Attached before start, so that not a byte is missed (trap 9). Returns the stream or -1. */
static int start_ready(struct filler *f, const char *id, struct err *err)
{
	AUTO_CLOSE int stream = container_attach(&f->engine, id, err);
	if (stream < 0 || container_start(&f->engine, id, err) < 0)
		return -1;
	if (hello_wait(stream, f->task->deadline_ms, err) < 0)
		return -1;
	return steal_fd(&stream);
}

/* One that is made for a job gets it at once: nothing to prepare then. */
static struct recipe recipe_of(const struct filler_task *task)
{
	return (struct recipe){
		.image = conf->python_image,
		.volume = task->volume,
		.instance = conf->label,
		.oci_runtime = conf->oci_runtime,
		.preimport = task->warm ? conf->python_preimport : "",
		.deadline_wall_s = task->deadline_wall_s,
		.limits = task->limits,
	};
}

static int do_update(struct filler *f, struct err *err)
{
	struct recipe recipe = recipe_of(f->task);
	recipe.born = &f->task->born;
	return container_update(&f->engine, &recipe, conf->optional_limits, f->task->id, err);
}

/* The keeper learns the id as soon as there is one: if this process dies, it removes the container.
 */
static int do_make(struct filler *f, struct err *err)
{
	const struct recipe recipe = recipe_of(f->task);
	char id[CONTAINER_ID] = "";
	if (container_create(&f->engine, &recipe, conf->optional_limits, id, err) < 0)
		return -1;
	snprintf(f->report.id, sizeof(f->report.id), "%s", id);
	if (send_report(f, FILLER_CREATED, -1) < 0)
		return -1;
	return start_ready(f, id, err);
}

/* A container that cannot be removed may be dead all the same: then it uses no memory, and need not
 * keep others from running. */
static int do_remove(struct filler *f, struct err *err)
{
	struct container_state state = { 0 };
	struct err ignored = ERR_INIT;
	f->engine.deadline_ms = f->task->deadline_ms - LIMIT_LOOK_MS;
	if (container_remove(&f->engine, f->task->id, err) == 0)
		return 0;
	f->engine.deadline_ms = f->task->deadline_ms;
	if (container_inspect(&f->engine, f->task->id, &state, &ignored) == 0)
		f->report.stopped = !state.running;
	return -1;
}

static int do_sweep(struct filler *f, struct err *err)
{
	AUTO_FREE struct container_row *rows = NULL;
	size_t count = 0;
	if (container_list(&f->engine, conf->label, &rows, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct container_state state = { 0 };
		struct err why = ERR_INIT;
		int r = container_inspect(&f->engine, rows[i].id, &state, &why);
		if (r < 0 && why.code == ERR_NOT_FOUND)
			continue; /* gone since the list was made */
		f->report.running = r == 0 && state.running;
		f->report.deadline_wall_s = rows[i].deadline_wall_s;
		snprintf(f->report.id, sizeof(f->report.id), "%s", rows[i].id);
		if (send_report(f, FILLER_ROW, -1) < 0)
			return -1;
	}
	return 0;
}

/* Not through engine_open: that the engine cannot be reached is what it reports. */
static int do_status(struct filler *f)
{
	info_status(conf->docker_host, conf->python_image, conf->optional_limits,
		    f->task->deadline_ms, &f->report.status);
	const struct err none = ERR_INIT;
	return send_done(f, &none, -1);
}

/* *out_fd is MAKE's stream. */
static int do_task(struct filler *f, int *out_fd, struct err *err)
{
	switch (f->task->kind) {
	case FILLER_SETUP:
		return do_setup(f, err);
	case FILLER_MAKE:
		*out_fd = do_make(f, err);
		return *out_fd < 0 ? -1 : 0;
	case FILLER_UPDATE:
		return do_update(f, err);
	case FILLER_REMOVE:
		return do_remove(f, err);
	case FILLER_SWEEP:
		return do_sweep(f, err);
	case FILLER_STATUS:
		break;
	}
	return err_set(err, ERR_INTERNAL, "no such task");
}

int filler_run(const struct filler_task *task, int sock)
{
	struct filler f = { .task = task, .sock = sock };
	if (task->kind == FILLER_STATUS)
		return do_status(&f) < 0;
	struct err err = ERR_INIT;
	AUTO_CLOSE int stream = -1;
	int r = engine_open(&f.engine, conf->docker_host, task->deadline_ms, &err);
	if (r == 0) {
		r = do_task(&f, &stream, &err);
		engine_close(&f.engine);
	}
	if (r < 0 && err.code == ERR_NONE)
		err_set(&err, ERR_INTERNAL, "the keeper is gone");
	return send_done(&f, &err, stream) < 0;
}
