/*
 * The input files of a job: stored ones opened, contents decoded, parts of a form taken over, paths
 * made plain, names that collide settled, and a name for the program itself. Called by execute.c
 * after the checks.
 */
#include "api/api.h"
#include "api/execute.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/path.h"
#include "conf.h"
#include "wire/base64.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int decode(struct execute *ex, size_t slot, struct execute_file *file, size_t index,
		  struct err *err)
{
	struct strbuf *bytes = &ex->contents[slot];
	size_t len = strlen(file->content_base64);

	strbuf_init(bytes, len / 4 * 3 + 3);
	if (!base64_decode(bytes, file->content_base64, len))
		return err_set(err, ERR_INVALID,
			       "files[%zu].content_base64 is not base64 (RFC 4648 with padding)",
			       index);
	free(steal(&file->content_base64));
	ex->inputs[slot].data = bytes->buf;
	ex->inputs[slot].size = bytes->len;
	return 0;
}

static int open_stored(struct run_input *in, const char *id, struct err *err)
{
	AUTO(blob) b = { 0 };

	if (blob_open(api_store(), API_TENANT, id, &b, &in->fd, err))
		return -1;
	in->size = (uint64_t)b.size;
	return 0;
}

/* Where the bytes of one file are: in the store, in the request as text, or as base64. */
static int take_content(struct execute *ex, size_t slot, struct execute_file *file, size_t index,
			struct err *err)
{
	struct run_input *in = &ex->inputs[slot];

	if (!!file->content + !!file->content_base64 + !!file->file_id != 1)
		return err_set(
			err, ERR_INVALID,
			"files[%zu]: give one of file_id, content and content_base64 with a path",
			index);
	if (file->file_id)
		return open_stored(in, file->file_id, err);
	in->data = file->content;
	in->size = file->content_len;
	if (file->content_base64 && decode(ex, slot, file, index, err))
		return -1;
	if (in->size > (uint64_t)conf->max_file_mb << 20)
		return err_set(
			err, ERR_TOO_LARGE,
			"files[%zu] has %llu bytes, the limit is %lld MiB (MAX_FILE_SIZE_MB)",
			index, (unsigned long long)in->size, (long long)conf->max_file_mb);
	return 0;
}

static int take_path(struct execute *ex, size_t slot, const char *path, struct err *err)
{
	char *plain = NULL;

	if (path_normalise(path, strlen(path), &plain, err))
		return -1;
	ex->inputs[slot].path = plain;
	return 0;
}

/* A descriptor of its own, so that every input is closed in the same way. */
static int take_part(struct execute *ex, size_t slot, const struct execute_part *part,
		     struct err *err)
{
	struct run_input *in = &ex->inputs[slot];

	in->fd = fcntl(part->write.fd, F_DUPFD_CLOEXEC, 0);
	if (in->fd < 0 || lseek(in->fd, 0, SEEK_SET) < 0)
		return err_sys(err, ERR_INTERNAL, errno, "a file of the form cannot be read");
	in->size = (uint64_t)part->write.blob.size;
	return take_path(ex, slot, part->name, err);
}

/* Contents first: an unknown id is told before a bad path (clients rely on the order). */
static int take_files(struct execute *ex, struct err *err)
{
	struct execute_file *files = ex->fields.files.items;
	size_t count = ex->fields.files.count;

	for (size_t i = 0; i < count; i++)
		if (take_content(ex, 1 + i, &files[i], i, err))
			return -1;
	for (size_t i = 0; i < count; i++)
		if (take_path(ex, 1 + i, files[i].path, err))
			return -1;
	for (size_t i = 0; i < ex->parts_count; i++)
		if (take_part(ex, 1 + count + i, &ex->parts[i], err))
			return -1;
	return 0;
}

static void drop_input(struct execute *ex, size_t i)
{
	size_t behind = ex->inputs_count - i - 1;

	free((char *)ex->inputs[i].path);
	auto_close(&ex->inputs[i].fd);
	strbuf_clear(&ex->contents[i]);
	memmove(&ex->inputs[i], &ex->inputs[i + 1], behind * sizeof(*ex->inputs));
	memmove(&ex->contents[i], &ex->contents[i + 1], behind * sizeof(*ex->contents));
	ex->inputs_count--;
}

/* Of files with one path the last one counts. */
static void drop_doubles(struct execute *ex)
{
	for (size_t i = ex->inputs_count; i-- > 2;)
		for (size_t j = i; j-- > 1;)
			if (strcmp(ex->inputs[i].path, ex->inputs[j].path) == 0) {
				drop_input(ex, j);
				i--;
			}
}

/* True if one is the other, or a folder on the way to it. */
static bool within(const char *folder, const char *path)
{
	size_t len = strlen(folder);

	return strncmp(folder, path, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static int check_folders(const struct execute *ex, struct err *err)
{
	for (size_t i = 1; i < ex->inputs_count; i++)
		for (size_t j = 1; j < ex->inputs_count; j++)
			if (i != j && within(ex->inputs[i].path, ex->inputs[j].path))
				return err_set(err, ERR_INVALID,
					       "File paths: '%.80s' would be a file and the folder "
					       "of '%.80s'",
					       ex->inputs[i].path, ex->inputs[j].path);
	return 0;
}

static bool name_taken(const struct execute *ex, const char *name)
{
	for (size_t i = 1; i < ex->inputs_count; i++)
		if (within(name, ex->inputs[i].path))
			return true;
	return false;
}

static int add_program(struct execute *ex, struct err *err)
{
	const char *name = name_taken(ex, "main.py") ? "__main__.py" : "main.py";

	if (name_taken(ex, name))
		return err_set(err, ERR_INVALID,
			       "File paths: main.py and __main__.py can't both be taken; the "
			       "program needs one");
	ex->inputs[0] = (struct run_input){ .path = xstrdup(name),
					    .data = ex->fields.code,
					    .fd = -1,
					    .size = strlen(ex->fields.code) };
	return 0;
}

/* [0] is the program's. */
static void make_room(struct execute *ex)
{
	size_t count = 1 + ex->fields.files.count + ex->parts_count;

	ex->inputs = xcalloc(count, sizeof(*ex->inputs));
	ex->contents = xcalloc(count, sizeof(*ex->contents));
	for (size_t i = 0; i < count; i++) {
		strbuf_init(&ex->contents[i], 0);
		ex->inputs[i].fd = -1;
	}
	ex->inputs_count = count;
}

int execute_stage(struct execute *ex, struct err *err)
{
	make_room(ex);
	if (take_files(ex, err))
		return -1;
	drop_doubles(ex);
	return check_folders(ex, err) || add_program(ex, err) ? -1 : 0;
}
