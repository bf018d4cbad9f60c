/*
 * The description of a stored file on disk: one small JSON object. Written once, before the file's
 * folder is renamed into place, and read for each listing and download. What is read is checked
 * like any other input: a file that lost its end in a crash of the machine must look like none.
 */
#include "store/blob_meta.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/io.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "store/beneath.h"
#include "store/blob.h"
#include "store/scan.h"
#include "store/store.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

/* A time of change for what does not expire: every file system has it. */
#define NEVER INT32_MAX

static void write_text(struct strbuf *out, const struct blob *b)
{
	strbuf_addstr(out, "{\"name\": ");
	json_add_string(out, b->name, strlen(b->name));
	strbuf_addstr(out, ", \"mime\": ");
	json_add_string(out, b->mime, strlen(b->mime));
	strbuf_addf(out, ", \"sha256\": \"%s\", \"size\": %" PRId64, b->sha256, b->size);
	strbuf_addf(out, ", \"created_ms\": %" PRId64 ", \"expires_ms\": %" PRId64 "}\n",
		    b->created_ms, b->expires_ms);
}

int blob_meta_save(int dir_fd, const struct blob *b, struct err *err)
{
	AUTO(strbuf) text = STRBUF(LIMIT_META_BYTES);
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = NEVER } };
	struct err why = ERR_INIT;
	AUTO_CLOSE int fd = -1;

	write_text(&text, b);
	if (!strbuf_ok(&text))
		return err_set(err, ERR_BAD_NAME, "The file's description is over %d bytes.",
			       LIMIT_META_BYTES);
	fd = beneath_open(dir_fd, "meta.json", O_WRONLY | O_CREAT | O_EXCL, STORE_META_MODE);
	if (fd < 0)
		return store_failed(err, errno, "meta.json");
	if (io_write_all(fd, text.buf, text.len, -1, &why) < 0)
		return store_failed(err, why.sys, "meta.json");
	if (b->expires_ms)
		times[1].tv_sec = b->expires_ms / 1000;
	if (futimens(fd, times) < 0)
		return store_failed(err, errno, "the time of meta.json");
	return 0;
}

static const char *get_text(struct json_object *o, const char *key, size_t max)
{
	struct json_object *v = json_object_object_get(o, key);
	const char *s = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : NULL;
	size_t len = s ? (size_t)json_object_get_string_len(v) : 0;

	return len > 0 && len <= max && strlen(s) == len ? s : NULL;
}

static bool get_number(struct json_object *o, const char *key, int64_t *out)
{
	struct json_object *v = json_object_object_get(o, key);

	if (!json_object_is_type(v, json_type_int))
		return false;
	*out = json_object_get_int64(v);
	return *out >= 0;
}

/* Fills all but the id. */
static bool fill(struct blob *b, struct json_object *o)
{
	const char *name = get_text(o, "name", LIMIT_PATH_BYTES);
	const char *mime = get_text(o, "mime", LIMIT_MIME_TYPE_BYTES);
	const char *sum = get_text(o, "sha256", SHA256_HEX - 1);

	if (!name || !mime || !sum || !path_is_clean(name, strlen(name)) ||
	    strspn(sum, "0123456789abcdef") != SHA256_HEX - 1)
		return false;
	if (!get_number(o, "size", &b->size) || !get_number(o, "created_ms", &b->created_ms) ||
	    !get_number(o, "expires_ms", &b->expires_ms))
		return false;
	snprintf(b->mime, sizeof(b->mime), "%s", mime);
	snprintf(b->sha256, sizeof(b->sha256), "%s", sum);
	b->name = xstrdup(name);
	return true;
}

static bool read_text(int dir_fd, const char *id, struct strbuf *out)
{
	char path[IDENT_UUID + 16], buf[LIMIT_META_BYTES];
	AUTO_CLOSE int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/meta.json", id);
	fd = beneath_file(dir_fd, path, NULL);
	if (fd < 0)
		return false;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		strbuf_add(out, buf, (size_t)n);
	return n == 0 && strbuf_ok(out);
}

int blob_meta_load(int dir_fd, const char *id, struct blob *out, struct err *err)
{
	AUTO(strbuf) text = STRBUF(LIMIT_META_BYTES);
	AUTO_JSON *o = NULL;
	struct blob b = { 0 };
	struct stat st;

	errno = 0;
	if (!read_text(dir_fd, id, &text))
		return err_sys(err, ERR_NOT_FOUND, errno, "The file %s was not found.", id);
	if (json_load(text.buf, text.len, &o, NULL) < 0 || !fill(&b, o)) {
		err_set(err, ERR_NOT_FOUND, "The file %s was not found.", id);
		return err_cause(err, "its meta.json is damaged");
	}
	if (!scan_stat(dir_fd, id, "content", &st) || st.st_size != b.size) {
		blob_clear(&b);
		err_set(err, ERR_NOT_FOUND, "The file %s was not found.", id);
		return err_cause(err, "its content is missing or has another size");
	}
	snprintf(b.id, sizeof(b.id), "%s", id);
	*out = b;
	return 0;
}
