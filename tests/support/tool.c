/*
 * Time, files and temporary folders for the system tests. Owns the run's one temporary folder
 * (made at first use, removed by cleanup.c at the end of the runner). Knows nothing of the service;
 * children are in child.c.
 */
#include "support/tool.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "support/cleanup.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/limits.h> /* <limits.h> would be src/limits.h */
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

void tool_sleep_ms(int ms)
{
	(void)poll(NULL, 0, ms);
}

bool tool_until(bool (*fn)(void *), void *arg, int ms)
{
	int64_t end = clock_ms() + ms;
	for (;;) {
		if (fn(arg))
			return true;
		if (clock_ms() >= end)
			return false;
		tool_sleep_ms(20);
	}
}

const char *tool_build_dir(void)
{
	static char dir[PATH_MAX];
	if (!dir[0]) {
		ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
		ck_assert_msg(n > 0, "readlink /proc/self/exe: %s", strerror(errno));
		dir[n] = '\0';
		*strrchr(dir, '/') = '\0';
	}
	return dir;
}

const char *tool_root_dir(void)
{
	static char dir[PATH_MAX];
	if (!dir[0]) {
		AUTO_FREE char *up = xasprintf("%s/../..", tool_build_dir());
		ck_assert_msg(realpath(up, dir), "%s: %s", up, strerror(errno));
	}
	return dir;
}

const char *tool_temp_dir(void)
{
	static char dir[64];
	if (!dir[0]) {
		/* Not $TMPDIR: a Unix socket's path has 107 bytes. */
		snprintf(dir, sizeof(dir), "/tmp/%s-XXXXXX", cleanup_name());
		/* Made before the first test runs, where Check's assertions don't work. */
		if (!mkdtemp(dir)) {
			perror(dir);
			exit(EXIT_FAILURE);
		}
		(void)chmod(dir, 0755); /* workers are not root and must reach the sockets below */
		cleanup_dir(dir);
	}
	return dir;
}

char *tool_new_dir(const char *name)
{
	static int count;
	char *dir = xasprintf("%s/%s-%d-%d", tool_temp_dir(), name, (int)getpid(), ++count);
	ck_assert_msg(mkdir(dir, 0755) == 0, "%s: %s", dir, strerror(errno));
	(void)chmod(dir, 0755);
	return dir;
}

static int remove_entry(const char *path, const struct stat *st UNUSED, int type UNUSED,
			struct FTW *ftw UNUSED)
{
	(void)remove(path);
	return 0;
}

void tool_rmtree(const char *path)
{
	(void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

bool tool_read(const char *path, struct strbuf *out)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	char buf[16384];
	ssize_t n;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		strbuf_add(out, buf, (size_t)n);
	return n == 0;
}

void tool_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");
	ck_assert_msg(f, "%s: %s", path, strerror(errno));
	fputs(text, f);
	ck_assert_msg(fclose(f) == 0, "%s: %s", path, strerror(errno));
}

char *tool_tail(const char *path, size_t max)
{
	AUTO(strbuf) all = STRBUF(TOOL_FILE_MAX);
	(void)tool_read(path, &all);
	size_t from = all.len > max ? all.len - max : 0;
	return xstrndup(all.buf + from, all.len - from);
}

int tool_count(const char *path, const char *text)
{
	AUTO(strbuf) all = STRBUF(TOOL_FILE_MAX);
	(void)tool_read(path, &all);
	int found = 0;
	const char *line = all.buf;
	while (*line) {
		size_t len = strcspn(line, "\n");
		found += memmem(line, len, text, strlen(text)) != NULL;
		line += len + (line[len] == '\n');
	}
	return found;
}

struct text_wait {
	const char *path, *text;
};

static bool has_text(void *arg)
{
	struct text_wait *w = arg;
	return tool_count(w->path, w->text) > 0;
}

bool tool_wait_text(const char *path, const char *text)
{
	struct text_wait w = { path, text };
	return tool_until(has_text, &w, TOOL_WAIT_MS);
}

int tool_free_port(void)
{
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	ck_assert_msg(fd >= 0 && bind(fd, (struct sockaddr *)&in, len) == 0 &&
			      getsockname(fd, (struct sockaddr *)&in, &len) == 0,
		      "no free port: %s", strerror(errno));
	return ntohs(in.sin_port);
}

const char *tool_service_user(void)
{
	return getpwnam("belljar") ? "belljar" : "nobody";
}
