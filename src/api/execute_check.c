/*
 * The checks of POST /v1/execute that its field table cannot state: the operator's caps, names that
 * are not the caller's to set, and sums. Each refusal names the field, the value and the limit.
 * Called by execute.c between reading and staging.
 */
#include "api/execute.h"
#include "base/err.h"
#include "conf.h"

#include <stdlib.h>
#include <string.h>

/* Python refuses to convert longer integers (sys.int_info.default_max_str_digits is 4300). */
#define ARGS_DIGITS 4300

static int check_timeout(const struct execute *ex, struct err *err)
{
	if (ex->fields.timeout_ms <= conf->max_timeout_ms)
		return 0;
	return err_set(err, ERR_INVALID,
		       "timeout_ms %lld is over the maximum of %lld ms (MAX_EXEC_TIMEOUT_MS)",
		       (long long)ex->fields.timeout_ms, (long long)conf->max_timeout_ms);
}

static int check_size(const char *field, size_t bytes, size_t limit, struct err *err)
{
	if (bytes <= limit)
		return 0;
	return err_set(err, ERR_TOO_LARGE, "%s has %zu bytes, the limit is %zu", field, bytes,
		       limit);
}

static int check_sizes(const struct execute *ex, struct err *err)
{
	const struct execute_fields *f = &ex->fields;

	if (check_size("code", strlen(f->code), LIMIT_CODE_BYTES, err) ||
	    check_size("stdin", f->stdin_len, LIMIT_STDIN_BYTES, err) ||
	    check_size("args", ex->args ? strlen(ex->args) : 0, LIMIT_ARGS_BYTES, err))
		return -1;
	return 0;
}

/* Digits in a row, outside of strings. */
static int check_args(const struct execute *ex, struct err *err)
{
	size_t digits = 0;
	bool text = false;

	for (const char *s = ex->args ? ex->args : ""; *s; s++) {
		if (text && *s == '\\')
			s++;
		else if (*s == '"')
			text = !text;
		digits = !text && *s >= '0' && *s <= '9' ? digits + 1 : 0;
		if (digits > ARGS_DIGITS)
			return err_set(err, ERR_INVALID,
				       "args holds a number of more than %d digits", ARGS_DIGITS);
	}
	return 0;
}

static bool one_of(const char *value, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(value, *names) == 0)
			return true;
	return false;
}

static int check_runtime(const struct execute *ex, struct err *err)
{
	static const char *const languages[] = { "python", "python3", "py", NULL };
	static const char *const versions[] = { "3.13", "3", NULL };
	const struct execute_fields *f = &ex->fields;

	if (f->language && !one_of(f->language, languages))
		return err_set(err, ERR_UNAVAILABLE_FIELD,
			       "language %s is not available; there is: python (3.13)",
			       f->language);
	if (f->version && !one_of(f->version, versions))
		return err_set(err, ERR_UNAVAILABLE_FIELD,
			       "version %s of python is not available; there is: 3.13", f->version);
	if (f->network && strcmp(f->network, "none") != 0)
		return err_set(err, ERR_UNAVAILABLE_FIELD,
			       "network %s is not available; there is: none", f->network);
	return 0;
}

static bool begins(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Names that change what runs before or below the program: loader, C library, interpreter, shells,
 * our own. */
static bool env_reserved(const char *name)
{
	static const char *const prefixes[] = { "PYTHON",  "LD_",    "BELLJAR",	  "GCONV_",
						"MALLOC_", "GLIBC_", "BASH_FUNC_" };
	static const char *const names[] = { "PATH", "LOCPATH",	  "NLSPATH",  "BASH_ENV", "ENV",
					     "IFS",  "SHELLOPTS", "BASHOPTS", NULL };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (begins(name, prefixes[i]))
			return true;
	return one_of(name, names);
}

static bool env_well_formed(const char *name)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return *name && !(*name >= '0' && *name <= '9') && name[strspn(name, letters)] == '\0' &&
	       strlen(name) <= LIMIT_NAME_BYTES;
}

static int build_env(struct execute *ex, struct err *err)
{
	const struct schema_strings *env = &ex->fields.env;

	for (size_t i = 0; i + 1 < env->count; i += 2) {
		const char *name = env->items[i], *value = env->items[i + 1];

		if (!env_well_formed(name))
			return err_set(err, ERR_INVALID,
				       "env: '%.80s' is not a name of letters, digits and _", name);
		if (env_reserved(name))
			return err_set(
				err, ERR_INVALID,
				"env: %.80s would change the loader or the runner and can't be set",
				name);
		strbuf_addf(&ex->env, "%s=%s", name, value);
		strbuf_addch(&ex->env, '\0');
	}
	return strbuf_ok(&ex->env)
		       ? 0
		       : err_set(err, ERR_INVALID, "env has more than the limit of %d bytes",
				 LIMIT_ENV_BYTES);
}

static int build_argv(struct execute *ex, struct err *err)
{
	const struct schema_strings *argv = &ex->fields.argv;

	for (size_t i = 0; i < argv->count; i++)
		strbuf_add(&ex->argv, argv->items[i], strlen(argv->items[i]) + 1);
	return strbuf_ok(&ex->argv)
		       ? 0
		       : err_set(err, ERR_INVALID, "argv has more than the limit of %d bytes",
				 LIMIT_ARGV_BYTES);
}

/* A given value within [min, max], or the operator's default. */
static int choose(const char *name, int64_t given, int64_t fallback, int64_t min, int64_t max,
		  int64_t *out, struct err *err)
{
	*out = given ? given : fallback;
	if (given && (given < min || given > max))
		return err_set(err, ERR_INVALID,
			       "limits.%s %lld is out of range; it may be %lld to %lld", name,
			       (long long)given, (long long)min, (long long)max);
	return 0;
}

static int choose_cpus(int64_t given, int64_t *out, struct err *err)
{
	*out = given ? given : conf->cpu_milli;
	if (given && (given < LIMIT_CPU_MIN_MILLI || given > conf->max_cpu_milli))
		return err_set(err, ERR_INVALID,
			       "limits.cpus %.3f is out of range; it may be %.2f to %.2f",
			       (double)given / 1000, LIMIT_CPU_MIN_MILLI / 1000.0,
			       (double)conf->max_cpu_milli / 1000);
	return 0;
}

static int choose_limits(struct execute *ex, struct err *err)
{
	const struct execute_limits *l = &ex->fields.limits;
	int64_t memory, cpus, pids, disk, tmp;

	if (choose("memory_mb", l->memory_mb, conf->memory_mb, LIMIT_MEMORY_MIN_MB,
		   conf->max_memory_mb, &memory, err) ||
	    choose_cpus(l->cpu_milli, &cpus, err) ||
	    choose("pids", l->pids, conf->pids, LIMIT_PIDS_MIN, conf->max_pids, &pids, err) ||
	    choose("disk_mb", l->disk_mb, conf_disk_mb(conf, memory), 1, conf->max_disk_mb, &disk,
		   err) ||
	    choose("cpu_time_s", l->cpu_time_s, conf->cpu_time_s, 1, conf->cpu_time_s,
		   &ex->cpu_time_s, err) ||
	    choose("output_bytes", l->output_bytes, conf->max_output_bytes, 1,
		   conf->max_output_bytes, &ex->output_bytes, err))
		return -1;
	tmp = conf_tmp_mb(conf, memory);
	if (disk + tmp >= memory)
		return err_set(err, ERR_INVALID,
			       "limits.disk_mb %lld does not fit: with the %lld MiB of /tmp it "
			       "must be less than limits.memory_mb %lld",
			       (long long)disk, (long long)tmp, (long long)memory);
	ex->limits = (struct lease_limits){ .memory_mb = (uint32_t)memory,
					    .cpu_milli = (uint32_t)cpus,
					    .pids = (uint32_t)pids,
					    .disk_mb = (uint32_t)disk,
					    .tmp_mb = (uint32_t)tmp };
	return 0;
}

int execute_check(struct execute *ex, struct err *err)
{
	if (check_timeout(ex, err) || check_sizes(ex, err) || check_args(ex, err) ||
	    check_runtime(ex, err) || choose_limits(ex, err) || build_argv(ex, err) ||
	    build_env(ex, err))
		return -1;
	return 0;
}
