/*
 * Shared steps of the tests of src/docker; see enginekit.h. It uses the code under test for the way
 * in, and asks the engine through support/dock.c where a test's verdict hangs on the answer.
 */
#include "support/enginekit.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/strbuf.h"
#include "support/cleanup.h"
#include "support/dock.h"
#include "support/tool.h"
#include "wire/dstream.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIT_DEADLINE_MS 60000
#define KIT_READ_MS 10000
#define KIT_TEXT (1 << 20)

/* Runs in the image's shell: says READY, then does what the first line of its stdin says. */
static const char guest_script[] =
	"#!/bin/sh\n"
	"echo READY\n"
	"read -r word\n"
	"case $word in\n"
	"echo) exec cat ;;\n"
	"exit7) exit 7 ;;\n"
	"facts) cat /proc/self/status /proc/self/mountinfo; id; env; hostname; cat /proc/net/dev\n"
	"  for f in kernel/shm_rmid_forced kernel/msgmni fs/mqueue/queues_max; do echo $f=$(cat "
	"/proc/sys/$f); done\n"
	"  for d in / /etc /root /var/tmp /run /dev /dev/mqueue /belljar /sys/fs/cgroup "
	"/proc/sys/kernel /workspace /tmp /dev/shm; do\n"
	"    if (: >$d/probe) 2>/dev/null; then echo \"writable=$d\"; fi\n"
	"  done\n"
	"  for f in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do\n"
	"    grep -q oom_kill $f 2>/dev/null && echo oom-counter\n"
	"  done\n"
	"  echo limits nofile=$(ulimit -n) core=$(ulimit -c) oom=$(cat /proc/self/oom_score_adj); "
	"echo DONE ;;\n"
	"esac\n";

const char *kit_instance(void)
{
	static char name[96];

	snprintf(name, sizeof(name), "%s-engine", cleanup_name());
	return name;
}

const char *kit_host(void)
{
	static char host[256];

	snprintf(host, sizeof(host), "unix://%s", dock_socket());
	return host;
}

char *kit_guest_dir(const char *mark)
{
	char *dir = tool_new_dir("guest");
	AUTO_FREE char *guest = xasprintf("%s/guest", dir);
	AUTO_FREE char *drivers = xasprintf("%s/drivers", dir);
	AUTO_FREE char *driver = xasprintf("%s/sitecustomize.py", drivers);
	AUTO_FREE char *text = xasprintf("%s# %s %s\n", guest_script, cleanup_name(), mark);

	tool_write(guest, text);
	ck_assert_int_eq(mkdir(drivers, 0755), 0);
	tool_write(driver, "print('driver')\n");
	return dir;
}

void kit_begin(struct kit *k, const char *host)
{
	struct err err = ERR_INIT;
	struct engine real = { 0 };

	*k = (struct kit){ .guest_dir = kit_guest_dir("kit") };
	ck_assert_msg(engine_open(&real, kit_host(), clock_ms() + KIT_DEADLINE_MS, &err) == 0, "%s",
		      err.text);
	ck_assert_msg(volume_guest(&real, k->guest_dir, dock_image(), kit_instance(), k->volume,
				   &err) == 0,
		      "%s: %s", err.text, err.cause);
	engine_close(&real);
	ck_assert_msg(engine_open(&k->engine, host, clock_ms() + KIT_DEADLINE_MS, &err) == 0, "%s",
		      err.text);
	k->recipe = (struct recipe){ .image = dock_image(),
				     .volume = k->volume,
				     .instance = kit_instance(),
				     .oci_runtime = "",
				     .deadline_wall_s = clock_wall_ms() / 1000 + 120,
				     .limits = { .memory_mb = 256,
						 .cpu_milli = 500,
						 .pids = 32,
						 .disk_mb = 64,
						 .tmp_mb = 16 } };
}

void kit_end(struct kit *k)
{
	engine_close(&k->engine);
	free(k->guest_dir);
}

void kit_create(struct kit *k, char *out_id)
{
	struct err err = ERR_INIT;

	ck_assert_msg(container_create(&k->engine, &k->recipe, "", out_id, &err) == 0, "%s: %s",
		      err.text, err.cause);
}

int kit_start(struct kit *k, char *out_id)
{
	AUTO_FREE char *first = NULL;
	struct err err = ERR_INIT;
	int fd;

	kit_create(k, out_id);
	fd = container_attach(&k->engine, out_id, &err);
	ck_assert_msg(fd >= 0, "%s: %s", err.text, err.cause);
	ck_assert_msg(container_start(&k->engine, out_id, &err) == 0, "%s: %s", err.text,
		      err.cause);
	first = kit_read(fd, "READY\n");
	ck_assert_str_eq(first, "READY\n");
	return fd;
}

static int keep(void *arg, enum dstream_kind kind, const void *data, size_t len)
{
	ck_assert_int_ne(kind, DSTREAM_DAEMON);
	strbuf_add(arg, data, len);
	return 0;
}

static bool ends_with(const struct strbuf *text, const char *end)
{
	size_t len = strlen(end);

	return text->len >= len && !memcmp(text->buf + text->len - len, end, len);
}

char *kit_read(int fd, const char *end)
{
	AUTO(strbuf) text = STRBUF(KIT_TEXT);
	struct dstream d;
	struct err err = ERR_INIT;
	int64_t deadline = clock_ms() + KIT_READ_MS;
	char piece[4096];
	ssize_t n = 1;

	dstream_init(&d, keep, &text);
	while (n > 0 && !(end && ends_with(&text, end))) {
		n = io_read_some(fd, piece, sizeof(piece), deadline, &err);
		ck_assert_msg(n >= 0, "%s after %s", err.text, text.buf);
		ck_assert_int_eq(dstream_push(&d, piece, (size_t)n), 0);
	}
	ck_assert(dstream_at_edge(&d) && strbuf_ok(&text));
	return xstrdup(text.buf);
}

bool kit_exists(const char *id)
{
	struct json_object *inspect = dock_inspect(id);
	bool there = inspect != NULL;

	json_object_put(inspect);
	return there;
}

bool kit_at_once(int n, int (*fn)(struct engine *e, const char *arg), const char *arg)
{
	bool all = true;
	int status;

	for (int i = 0; i < n; i++) {
		if (fork() == 0) {
			struct engine e;

			if (engine_open(&e, kit_host(), clock_ms() + KIT_DEADLINE_MS, NULL) < 0)
				_exit(2);
			_exit(fn(&e, arg) == 0 ? 0 : 1);
		}
	}
	while (n--)
		all = wait(&status) > 0 && status == 0 && all;
	return all;
}

void kit_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text);
}

void kit_has_not(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) == NULL, "\"%s\" in:\n%s", part, text);
}
