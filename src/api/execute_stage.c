/*
 * The input files of a job: paths made plain, contents decoded, names that collide settled, and a
 * name for the program itself. Called by execute.c after the checks; nothing here touches a file
 * system.
 */
#include "api/execute.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/path.h"
#include "conf.h"
#include "wire/base64.h"

#include <stdlib.h>
#include <string.h>

/* One content, as text or base64, into inputs[slot]. */
static int take_content(struct execute *ex, size_t slot, struct execute_file *file, size_t index,
			struct err *err)
{
	struct run_input *in = &ex->inputs[slot];
	struct strbuf *bytes = &ex->contents[slot];

	if (!file->content == !file->content_base64)
		return err_set(err, ERR_INVALID,
			       "files[%zu]: give either content or content_base64 with a path",
			       index);
	strbuf_clear(bytes);
	in->data = file->content;
	in->size = file->content_len;
	if (file->content_base64) {
		size_t len = strlen(file->content_base64);

		strbuf_init(bytes, len / 4 * 3 + 3);
		if (!base64_decode(bytes, file->content_base64, len))
			return err_set(
				err, ERR_INVALID,
				"files[%zu].content_base64 is not base64 (RFC 4648 with padding)",
				index);
		free(steal(&file->content_base64));
		in->data = bytes->buf;
		in->size = bytes->len;
	}
	if (in->size > (uint64_t)conf->max_file_mb << 20)
		return err_set(
			err, ERR_TOO_LARGE,
			"files[%zu] has %llu bytes, the limit is %lld MiB (MAX_FILE_SIZE_MB)",
			index, (unsigned long long)in->size, (long long)conf->max_file_mb);
	return 0;
}

/* The slot for a path: the one that has it already (the last file wins) or a new one. */
static size_t slot_of(struct execute *ex, char *path)
{
	for (size_t i = 1; i < ex->inputs_count; i++) {
		if (strcmp(ex->inputs[i].path, path) == 0) {
			free(path);
			return i;
		}
	}
	ex->inputs[ex->inputs_count].path = path;
	return ex->inputs_count++;
}

static int take_file(struct execute *ex, struct execute_file *file, size_t index, struct err *err)
{
	char *path = NULL;

	if (path_normalise(file->path, strlen(file->path), &path, err))
		return -1;
	return take_content(ex, slot_of(ex, path), file, index, err);
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

int execute_stage(struct execute *ex, struct err *err)
{
	struct execute_file *files = ex->fields.files.items;
	size_t count = ex->fields.files.count;

	ex->inputs = xcalloc(count + 1, sizeof(*ex->inputs));
	ex->contents = xcalloc(count + 1, sizeof(*ex->contents));
	for (size_t i = 0; i <= count; i++) {
		strbuf_init(&ex->contents[i], 0);
		ex->inputs[i].fd = -1;
	}
	ex->inputs_count = 1;
	for (size_t i = 0; i < count; i++)
		if (take_file(ex, &files[i], i, err))
			return -1;
	return check_folders(ex, err) || add_program(ex, err) ? -1 : 0;
}
