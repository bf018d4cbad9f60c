/*
 * The operator's settings: one table of rows, filled from the defaults, then a file, then the
 * environment. main.c loads and publishes it, everybody reads `conf`. A value that is wrong stops
 * the start; nothing is corrected in silence. Sizes derived from several settings are computed here
 * too, so that the worker and the keeper agree on them.
 */
#include "conf.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "conf_check.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONF_FILE_BYTES (64 << 10) /* about thirty keys; a larger file is another kind of file */

const struct conf *conf;

enum type { TEXT, INT, MILLI };

struct row {
	const char *key;
	enum type type;
	size_t offset;
	const char *fallback;
	int64_t min, max;	      /* INT; MILLI in thousandths */
	bool (*check)(const char *s); /* TEXT */
	const char *range;	      /* TEXT, for people */
	const char *help;
};

#define AT(member) offsetof(struct conf, member)

static const struct row rows[] = {
	{ "HOST", TEXT, AT(host), "127.0.0.1", 0, 0, conf_is_host, "host name or address",
	  "address nginx listens on" },
	{ "PORT", INT, AT(port), "8000", 1, 65535, NULL, NULL, "port nginx listens on" },
	{ "RUN_DIR", TEXT, AT(run_dir), "/run/belljar", 0, 0, conf_is_run_dir,
	  "absolute path, at most 80 bytes", "folder of the sockets and the pid file" },
	{ "SERVICE_USER", TEXT, AT(service_user), "belljar", 0, 0, conf_is_user, "user name",
	  "user of workers and janitor" },
	{ "DOCKER_HOST", TEXT, AT(docker_host), "unix:///var/run/docker.sock", 0, 0, conf_is_engine,
	  "unix:///path or tcp://host:port", "the container engine's API" },
	{ "OCI_RUNTIME", TEXT, AT(oci_runtime), "", 0, 0, conf_is_runtime, "name or empty",
	  "OCI runtime of the containers; empty: the engine's default" },
	{ "PYTHON_IMAGE", TEXT, AT(python_image), "belljar-python", 0, 0, conf_is_image,
	  "image reference", "image that Python programs run in" },
	{ "GUEST_DIR", TEXT, AT(guest_dir), "", 0, 0, conf_is_dir_or_none, "absolute path or empty",
	  "folder with `guest` and `drivers/`; empty: where the binary is" },
	{ "INSTANCE", TEXT, AT(label), "belljar", 0, 0, conf_is_label,
	  "1 to 63 of letters, digits, . _ -",
	  "name that marks this service's containers; two services on one engine need two" },
	{ "CODE_EXEC_SANDBOX", TEXT, AT(sandbox), "docker", 0, 0, conf_is_sandbox, "docker",
	  "how programs are isolated" },
	{ "OPTIONAL_LIMITS", TEXT, AT(optional_limits), "", 0, 0, conf_is_limits,
	  "empty or some of memory, swap, pids, cpu",
	  "limits that may be missing, comma separated; otherwise a missing one is a failure" },
	{ "DEFAULT_TIMEOUT_MS", INT, AT(default_timeout_ms), "10000", 1, 86400000, NULL, NULL,
	  "time of a program that names none" },
	{ "MAX_EXEC_TIMEOUT_MS", INT, AT(max_timeout_ms), "60000", 1, 86400000, NULL, NULL,
	  "longest time a request may ask for" },
	{ "CPU_TIME_LIMIT_SEC", INT, AT(cpu_time_s), "30", 1, 86400, NULL, NULL,
	  "CPU seconds of one process; also the most a request may ask for" },
	{ "MEMORY_LIMIT_MB", INT, AT(memory_mb), "512", LIMIT_MEMORY_MIN_MB, 1048576, NULL, NULL,
	  "memory of a job that names none, MiB" },
	{ "MEMORY_MAX_MB", INT, AT(max_memory_mb), "2048", LIMIT_MEMORY_MIN_MB, 1048576, NULL, NULL,
	  "most memory a request may ask for, MiB" },
	{ "CPU_LIMIT", MILLI, AT(cpu_milli), "1", LIMIT_CPU_MIN_MILLI, 1024000, NULL, NULL,
	  "CPUs of a job that names none" },
	{ "CPU_MAX", MILLI, AT(max_cpu_milli), "2", LIMIT_CPU_MIN_MILLI, 1024000, NULL, NULL,
	  "most CPUs a request may ask for" },
	{ "PIDS_LIMIT", INT, AT(pids), "64", LIMIT_PIDS_MIN, 32768, NULL, NULL,
	  "processes and threads of a job that names none" },
	{ "PIDS_MAX", INT, AT(max_pids), "256", LIMIT_PIDS_MIN, 32768, NULL, NULL,
	  "most processes and threads a request may ask for" },
	{ "DISK_LIMIT_MB", INT, AT(disk_mb), "256", 1, 1048576, NULL, NULL,
	  "workspace of a job that names none, MiB; part of its memory" },
	{ "DISK_MAX_MB", INT, AT(max_disk_mb), "1024", 1, 1048576, NULL, NULL,
	  "largest workspace a request may ask for, MiB" },
	{ "TMP_LIMIT_MB", INT, AT(tmp_mb), "64", 4, 1048576, NULL, NULL,
	  "size of /tmp, MiB; part of the job's memory" },
	{ "MAX_OUTPUT_BYTES", INT, AT(max_output_bytes), "1048576", 1, 67108864, NULL, NULL,
	  "stdout and stderr that are returned, each" },
	{ "MAX_REQUEST_BYTES", INT, AT(max_request_bytes), "26214400", 1024, 1073741824, NULL, NULL,
	  "largest request body that is no upload or form" },
	{ "MAX_OUTPUT_FILES", INT, AT(max_output_files), "64", 0, 10000, NULL, NULL,
	  "files a job may return" },
	{ "MAX_OUTPUT_FILES_MB", INT, AT(max_output_files_mb), "100", 1, 65536, NULL, NULL,
	  "size of all files a job may return, MiB" },
	{ "MAX_CONCURRENT_JOBS", INT, AT(jobs), "8", 1, 1000, NULL, NULL, "jobs that run at once" },
	{ "QUEUE_LENGTH", INT, AT(queue), "16", 0, 1000, NULL, NULL,
	  "jobs that may wait for a slot" },
	{ "QUEUE_TIMEOUT_MS", INT, AT(queue_timeout_ms), "10000", 0, 600000, NULL, NULL,
	  "longest wait for a slot" },
	{ "POOL_SIZE", INT, AT(pool_size), "4", 0, 256, NULL, NULL,
	  "containers that wait ready for a job" },
	{ "POOL_MAX_AGE_SEC", INT, AT(pool_max_age_s), "600", 1, 86400, NULL, NULL,
	  "age at which a waiting container is replaced" },
	{ "PYTHON_PREIMPORT", TEXT, AT(python_preimport), "", 0, 0, conf_is_modules,
	  "empty or module names: numpy,pandas",
	  "what a waiting Python imports in advance, comma separated" },
	{ "WORKERS", INT, AT(workers), "0", 0, 4000, NULL, NULL,
	  "worker processes; 0: enough for all jobs, the queue and a reserve" },
	{ "WORKER_REQUESTS", INT, AT(worker_requests), "1000", 1, 1000000000, NULL, NULL,
	  "requests after which a worker is replaced" },
	{ "FILE_STORAGE_DIR", TEXT, AT(storage_dir), "/var/lib/belljar/files", 0, 0, conf_is_dir,
	  "absolute path", "where uploaded and returned files are kept" },
	{ "WEB_GROUP", TEXT, AT(web_group), "www-data", 0, 0, conf_is_user, "group name",
	  "group of the web server, which sends the stored files" },
	{ "MAX_FILE_SIZE_MB", INT, AT(max_file_mb), "100", 1, 1048576, NULL, NULL,
	  "largest file, MiB" },
	{ "MAX_UPLOAD_MB", INT, AT(max_upload_mb), "256", 2, 1048576, NULL, NULL,
	  "largest body of an upload or a form, all its files together, MiB" },
	{ "UPLOAD_ALLOW", TEXT, AT(upload_allow), "", 0, 0, conf_is_types,
	  "empty or MIME patterns: image/png, text/*",
	  "types that may be uploaded, as libmagic finds them; empty: all" },
	{ "UPLOAD_DENY", TEXT, AT(upload_deny), "", 0, 0, conf_is_types,
	  "empty or MIME patterns: image/png, text/*",
	  "types that may not be uploaded; goes before UPLOAD_ALLOW" },
	{ "FILES_QUOTA_MB", INT, AT(files_quota_mb), "2048", 0, 1073741824, NULL, NULL,
	  "stored files of one tenant, MiB; 0: no limit" },
	{ "STORE_QUOTA_MB", INT, AT(store_quota_mb), "10240", 0, 1073741824, NULL, NULL,
	  "all stored files, MiB; 0: no limit" },
	{ "FILE_TTL_SEC", INT, AT(file_ttl_s), "86400", 1, 315360000, NULL, NULL,
	  "age at which a stored file is deleted" },
	{ "LOG_LEVEL", TEXT, AT(log_level), "info", 0, 0, conf_is_level, "error, warn, info, debug",
	  "what is logged" },
	{ "LOG_FORMAT", TEXT, AT(log_format), "plain", 0, 0, conf_is_format, "plain, json",
	  "form of log lines" },
};

/* "0.05", "1": thousandths as people write them. */
static void milli_text(int64_t milli, char *out, size_t max)
{
	snprintf(out, max, "%g", (double)milli / 1000);
}

static void range_text(const struct row *r, char *out, size_t max)
{
	char low[16], high[16];

	if (r->type == TEXT) {
		snprintf(out, max, "%s", r->range);
	} else if (r->type == INT) {
		snprintf(out, max, "%lld to %lld", (long long)r->min, (long long)r->max);
	} else {
		milli_text(r->min, low, sizeof(low));
		milli_text(r->max, high, sizeof(high));
		snprintf(out, max, "%s to %s", low, high);
	}
}

static bool set_value(struct conf *c, const struct row *r, const char *value)
{
	void *at = (char *)c + r->offset;

	if (r->type == INT)
		return num_int(value, r->min, r->max, at);
	if (r->type == MILLI)
		return num_milli(value, r->min, r->max, at);
	if (!r->check(value))
		return false;
	free(*(char **)at);
	*(char **)at = xstrdup(value);
	return true;
}

static int set_or_fail(struct conf *c, const struct row *r, const char *value, struct err *err)
{
	char range[64];

	if (set_value(c, r, value))
		return 0;
	range_text(r, range, sizeof(range));
	return err_set(err, ERR_INVALID, "%s=%.60s is not valid: it must be %s.", r->key, value,
		       range);
}

static const struct row *find_row(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].key, key) == 0)
			return &rows[i];
	}
	return NULL;
}

/* Cuts blanks off both ends, in place. */
static char *trim(char *s)
{
	size_t len;

	s += strspn(s, " \t\r");
	len = strlen(s);
	while (len && strchr(" \t\r", s[len - 1]))
		s[--len] = '\0';
	return s;
}

/* Takes one pair of equal quotes off, as files written for a shell have them. */
static char *unquote(char *s)
{
	size_t len = strlen(s);

	if (len < 2 || (s[0] != '"' && s[0] != '\'') || s[len - 1] != s[0])
		return s;
	s[len - 1] = '\0';
	return s + 1;
}

/* One line of the file; seen: the rows that earlier lines have set. */
static int set_line(struct conf *c, char *line, bool *seen, const char *path, int number,
		    struct err *err)
{
	const struct row *r;
	char *equals, *value;

	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	equals = strchr(line, '=');
	if (!equals)
		return err_set(err, ERR_INVALID, "%.80s line %d is not KEY=value.", path, number);
	*equals = '\0';
	r = find_row(trim(line));
	if (!r)
		return err_set(err, ERR_INVALID, "%.80s line %d: there is no key %.60s.", path,
			       number, line);
	if (seen[r - rows])
		return err_set(err, ERR_INVALID, "%.80s line %d: %s is set a second time.", path,
			       number, r->key);
	seen[r - rows] = true;
	value = unquote(trim(equals + 1));
	return *value ? set_or_fail(c, r, value, err) : 0;
}

static int read_file(const char *path, struct strbuf *out, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char part[4096];
	struct stat st;
	ssize_t n = 0;

	if (fd < 0)
		return err_sys(err, ERR_INVALID, errno,
			       "The configuration file %.100s cannot be opened: %s.", path,
			       strerrordesc_np(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID,
			       "The configuration file %.100s is not a regular file.", path);
	/* A file can grow while it is read: the buffer's bound ends it. */
	while (strbuf_ok(out) && (n = read(fd, part, sizeof(part))) > 0)
		strbuf_add(out, part, (size_t)n);
	if (n < 0)
		return err_sys(err, ERR_INVALID, errno,
			       "The configuration file %.100s cannot be read: %s.", path,
			       strerrordesc_np(errno));
	if (!strbuf_ok(out))
		return err_set(err, ERR_INVALID,
			       "The configuration file %.100s has more than %d bytes.", path,
			       CONF_FILE_BYTES);
	if (memchr(out->buf, '\0', out->len))
		return err_set(err, ERR_INVALID, "The configuration file %.100s holds a NUL byte.",
			       path);
	return 0;
}

static int load_file(struct conf *c, const char *path, struct err *err)
{
	AUTO(strbuf) text = STRBUF(CONF_FILE_BYTES);
	bool seen[ARRAY_SIZE(rows)] = { false };
	char *next, *line = NULL;
	int number = 0;

	if (read_file(path, &text, err) < 0)
		return -1;
	/* Some editors begin a file with a byte order mark. */
	line = text.buf + (strncmp(text.buf, "\xef\xbb\xbf", 3) ? 0 : 3);
	for (; *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		if (set_line(c, line, seen, path, ++number, err) < 0)
			return -1;
	}
	return 0;
}

static int load_defaults(struct conf *c, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *empty = NULL;

		if (rows[i].type == TEXT)
			memcpy((char *)c + rows[i].offset, &empty, sizeof(empty));
		if (set_or_fail(c, &rows[i], rows[i].fallback, err) < 0)
			return -1;
	}
	return 0;
}

/* An empty variable is an unset one: that is how compose passes what its user did not set. */
static int load_environment(struct conf *c, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *value = getenv(rows[i].key);

		if (value && *value && set_or_fail(c, &rows[i], value, err) < 0)
			return -1;
	}
	return 0;
}

int conf_load(struct conf *out, const char *path, struct err *err)
{
	*out = (struct conf){ 0 };
	if (load_defaults(out, err) < 0 || (path && load_file(out, path, err) < 0) ||
	    load_environment(out, err) < 0 || conf_check(out, err) < 0) {
		conf_clear(out);
		return -1;
	}
	return 0;
}

void conf_clear(struct conf *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].type == TEXT)
			free(*(char **)((char *)c + rows[i].offset));
	}
	*c = (struct conf){ 0 };
}

void conf_use(const struct conf *c)
{
	conf = c;
}

bool conf_row(size_t i, struct conf_row *out)
{
	if (i >= ARRAY_SIZE(rows))
		return false;
	*out = (struct conf_row){ .key = rows[i].key,
				  .fallback = rows[i].fallback,
				  .help = rows[i].help };
	range_text(&rows[i], out->range, sizeof(out->range));
	return true;
}

/*
 * Every tmpfs of a container is charged to its memory, so together they may take three quarters of
 * it: a full disk then is an error that the program sees, not its death. Where the full sizes don't
 * fit, /tmp and /dev/shm get a quarter each at most, and the workspace what is left.
 */
static int64_t space_mb(int64_t memory_mb)
{
	return memory_mb / 4 * 3;
}

static int64_t shm_mb(int64_t memory_mb)
{
	return MIN((int64_t)LIMIT_SHM_MB, MAX(memory_mb / 4, (int64_t)1));
}

int64_t conf_tmp_mb(const struct conf *c, int64_t memory_mb)
{
	if (c->disk_mb + c->tmp_mb + LIMIT_SHM_MB <= space_mb(memory_mb))
		return c->tmp_mb;
	return MIN(c->tmp_mb, MAX(memory_mb / 4, (int64_t)LIMIT_TMP_MIN_MB));
}

int64_t conf_disk_mb(const struct conf *c, int64_t memory_mb)
{
	int64_t left = space_mb(memory_mb) - conf_tmp_mb(c, memory_mb) - shm_mb(memory_mb);

	return MIN(c->disk_mb, MAX(left, (int64_t)1));
}

int conf_workers(const struct conf *c)
{
	if (c->workers > 0)
		return (int)c->workers;
	return (int)(c->jobs + c->queue) + LIMIT_WORKER_RESERVE;
}
