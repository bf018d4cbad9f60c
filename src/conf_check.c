/*
 * What a setting may look like and which settings can't go together. Called by conf.c only, for
 * each value and then once for the whole; looks at text and numbers, never at the machine (whether
 * a user or a folder exists is its role's business).
 */
#include "conf_check.h"

#include "base/err.h"
#include "base/num.h"
#include "conf.h"
#include "limits.h"
#include "wire/mimelist.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define RUN_DIR_BYTES 80 /* a Unix socket's path has 107; "/keeper.sock.new" is appended */
#define PATH_BYTES 1024
#define MODULES_BYTES LIMIT_PREIMPORT_BYTES
#define TYPES_BYTES 4096 /* some hundred patterns */

/* Between min and max bytes, all of them from the set. */
static bool made_of(const char *s, size_t min, size_t max, const char *set)
{
	size_t len = strnlen(s, max + 1);

	return len >= min && len <= max && strspn(s, set) == len;
}

static bool one_of(const char *s, const char *const *words)
{
	for (; *words; words++) {
		if (strcmp(s, *words) == 0)
			return true;
	}
	return false;
}

static bool is_path(const char *s, size_t max)
{
	if (s[0] != '/' || strnlen(s, max + 1) > max)
		return false;
	for (const char *p = s; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	}
	return true;
}

bool conf_is_host(const char *s)
{
	return made_of(s, 1, 255, LETTERS DIGITS ".:-_[]%*");
}

bool conf_is_run_dir(const char *s)
{
	return is_path(s, RUN_DIR_BYTES);
}

bool conf_is_dir(const char *s)
{
	return is_path(s, PATH_BYTES);
}

bool conf_is_dir_or_none(const char *s)
{
	return !*s || conf_is_dir(s);
}

bool conf_is_user(const char *s)
{
	return made_of(s, 1, 32, LETTERS DIGITS "._-") && s[0] != '-';
}

/* host:port, where the host may be an IPv6 address in brackets. */
static bool is_host_port(const char *s)
{
	const char *colon = strrchr(s, ':');
	int64_t port;

	if (!colon || colon == s || !num_int(colon + 1, 1, 65535, &port))
		return false;
	return strspn(s, LETTERS DIGITS ".-_:[]%") == strlen(s) && colon - s <= 255;
}

bool conf_is_engine(const char *s)
{
	if (strncmp(s, "unix://", 7) == 0)
		return is_path(s + 7, 107);
	return strncmp(s, "tcp://", 6) == 0 && is_host_port(s + 6);
}

bool conf_is_runtime(const char *s)
{
	return made_of(s, 0, 64, LETTERS DIGITS "._/-");
}

bool conf_is_image(const char *s)
{
	return made_of(s, 1, 255, LETTERS DIGITS "._/:@-") && s[0] != '-' && s[0] != '/';
}

bool conf_is_label(const char *s)
{
	return made_of(s, 1, 63, LETTERS DIGITS "._-");
}

bool conf_is_sandbox(const char *s)
{
	return strcmp(s, "docker") == 0;
}

bool conf_is_limits(const char *s)
{
	static const char *const words[] = { "memory", "swap", "pids", "cpu", NULL };

	if (!*s)
		return true;
	for (;;) {
		size_t len = strcspn(s, ",");
		char word[8];

		if (snprintf(word, sizeof(word), "%.*s", (int)MIN(len, (size_t)100), s) >=
		    (int)sizeof(word))
			return false;
		if (!one_of(word, words))
			return false;
		if (!s[len])
			return true;
		s += len + 1;
	}
}

bool conf_is_level(const char *s)
{
	static const char *const words[] = { "error", "warn", "info", "debug", NULL };

	return one_of(s, words);
}

bool conf_is_format(const char *s)
{
	static const char *const words[] = { "plain", "json", NULL };

	return one_of(s, words);
}

/* A dotted name: letters, digits and _ between dots, no part empty. */
static bool is_module(const char *s, size_t len)
{
	bool part = false;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == '.' && !part)
			return false;
		if (s[i] != '.' && !strchr(LETTERS DIGITS "_", s[i]))
			return false;
		part = s[i] != '.';
	}
	return part;
}

bool conf_is_modules(const char *s)
{
	if (!*s)
		return true;
	if (strnlen(s, MODULES_BYTES + 1) > MODULES_BYTES)
		return false;
	for (;; s++) {
		size_t len = strcspn(s, ",");

		if (!is_module(s, len))
			return false;
		s += len;
		if (!*s)
			return true;
	}
}

bool conf_is_types(const char *s)
{
	return strnlen(s, TYPES_BYTES + 1) <= TYPES_BYTES && mimelist_check(s, NULL) == 0;
}

static int check_le(const char *low_key, int64_t low, const char *high_key, int64_t high,
		    struct err *err)
{
	if (low <= high)
		return 0;
	return err_set(err, ERR_INVALID, "%s (%lld) is over %s (%lld); make it at most that.",
		       low_key, (long long)low, high_key, (long long)high);
}

/* In thousandths, shown as the operator wrote them. */
static int check_cpu(const struct conf *c, struct err *err)
{
	if (c->cpu_milli <= c->max_cpu_milli)
		return 0;
	return err_set(err, ERR_INVALID,
		       "CPU_LIMIT (%g) is over CPU_MAX (%g); make it at most that.",
		       (double)c->cpu_milli / 1000, (double)c->max_cpu_milli / 1000);
}

/* A file of the largest size comes with boundaries and headers around it. */
static int check_upload(const struct conf *c, struct err *err)
{
	if (c->max_file_mb < c->max_upload_mb)
		return 0;
	return err_set(err, ERR_INVALID,
		       "MAX_FILE_SIZE_MB (%lld) does not fit into an upload: make MAX_UPLOAD_MB "
		       "(%lld) larger than it.",
		       (long long)c->max_file_mb, (long long)c->max_upload_mb);
}

int conf_check(const struct conf *c, struct err *err)
{
	if (check_le("DEFAULT_TIMEOUT_MS", c->default_timeout_ms, "MAX_EXEC_TIMEOUT_MS",
		     c->max_timeout_ms, err) < 0 ||
	    check_le("MEMORY_LIMIT_MB", c->memory_mb, "MEMORY_MAX_MB", c->max_memory_mb, err) < 0 ||
	    check_le("PIDS_LIMIT", c->pids, "PIDS_MAX", c->max_pids, err) < 0 ||
	    check_le("DISK_LIMIT_MB", c->disk_mb, "DISK_MAX_MB", c->max_disk_mb, err) < 0)
		return -1;
	return check_cpu(c, err) < 0 || check_upload(c, err) < 0 ? -1 : 0;
}
