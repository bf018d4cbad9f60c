/*
 * The files of a program on their way into the store, where the answer's ids point to. Driven by
 * run_job through a run_sink: counted, hashed and typed while they come, never held. A file that
 * does not come whole leaves no trace, and neither do any if the client is not there to be told.
 */
#include "api/api.h"
#include "api/execute.h"
#include "base/alloc.h"
#include "base/err.h"
#include "conf.h"

#include <stdlib.h>

void execute_output_init(struct execute_output *o)
{
	*o = (struct execute_output){ .write = BLOB_WRITE_INIT };
}

void execute_output_clear(struct execute_output *o)
{
	blob_write_clear(&o->write);
	for (size_t i = 0; i < o->count; i++) {
		if (!o->kept)
			(void)blob_discard(api_store(), API_TENANT, o->files[i].id, NULL);
		blob_clear(&o->files[i]);
	}
	free(o->files);
	execute_output_init(o);
}

/* Keeps the first failure that is no answer to what the program did. */
static int failed(struct execute_output *o, const struct err *err)
{
	if (err_info(err->code)->status >= 500 && o->trouble.code == ERR_NONE)
		o->trouble = *err;
	return -1;
}

/* What an upload may not be, a program may still write. */
static int output_begin(void *arg, const char *path, uint64_t size, struct err *err)
{
	struct execute_output *o = arg;
	const struct blob_rules rules = { .max_bytes = (int64_t)size,
					  .max_name = "the size that was announced",
					  .ttl_ms = conf->file_ttl_s * 1000 };

	if (size > (uint64_t)conf->max_file_mb << 20)
		return err_set(err, ERR_TOO_LARGE, "the file is over MAX_FILE_SIZE_MB");
	if (blob_write_open(&o->write, api_store(), API_TENANT, path, &rules, err) == 0)
		return 0;
	blob_write_clear(&o->write);
	return failed(o, err);
}

static int output_data(void *arg, const void *data, size_t len, struct err *err)
{
	struct execute_output *o = arg;

	return blob_write_add(&o->write, data, len, err) < 0 ? failed(o, err) : 0;
}

static int output_end(void *arg, struct err *err)
{
	struct execute_output *o = arg;

	if (o->count == o->room) {
		o->room = 2 * o->room + 8;
		o->files = xrealloc(o->files, o->room * sizeof(*o->files));
	}
	if (blob_write_commit(&o->write, &o->files[o->count], err) < 0)
		return failed(o, err);
	o->count++;
	blob_write_clear(&o->write);
	return 0;
}

static void output_abort(void *arg)
{
	struct execute_output *o = arg;

	blob_write_clear(&o->write);
}

struct run_sink execute_output_sink(struct execute_output *o)
{
	return (struct run_sink){ output_begin, output_data, output_end, output_abort, o };
}
