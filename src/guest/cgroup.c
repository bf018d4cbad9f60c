/*
 * The container's own memory counters. A verdict of "out of memory" comes from here, compared
 * before and after, never from exit code 137. Version 2 shows the container's group at the mount's
 * root, or, in the host's cgroup namespace, below the path in /proc/self/cgroup; version 1 the same
 * below memory/. Files only, no state.
 */
#include "guest/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define TEXT_MAX 4096 /* the longest of these files has a line per controller */

static bool read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	return true;
}

static bool digits(const char *s, uint64_t *out)
{
	uint64_t v = 0;

	if (*s < '0' || *s > '9')
		return false;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (v > (UINT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	*out = v;
	return true;
}

/* The number behind "key " at the beginning of a line; key "": the text is one number. */
static bool find_number(const char *text, const char *key, uint64_t *out)
{
	size_t len = strlen(key);

	if (len == 0)
		return digits(text, out);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return digits(line + len + 1, out);
	}
	return false;
}

/* The path of our group in /proc/self/cgroup: of version 2 ("0::") or of version 1's memory
 * controller. */
static bool own_path(bool v2, char *out, size_t size)
{
	char text[TEXT_MAX];
	const char *at = NULL;
	size_t len;

	if (!read_text("/proc/self/cgroup", text, sizeof(text)))
		return false;
	if (v2)
		at = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
	else
		at = strstr(text, ":memory:/");
	if (!at)
		return false;
	at = strchr(at, '/');
	len = strcspn(at, "\n");
	if (len >= size)
		return false;
	memcpy(out, at, len);
	out[len] = '\0';
	return true;
}

static bool read_number(bool v2, const char *file, const char *key, uint64_t *out)
{
	const char *root = v2 ? CGROUP_ROOT : CGROUP_ROOT "/memory";
	char own[1024], path[1200], text[TEXT_MAX];

	if (own_path(v2, own, sizeof(own)) && strcmp(own, "/") != 0) {
		snprintf(path, sizeof(path), "%s%s/%s", root, own, file);
		if (read_text(path, text, sizeof(text)) && find_number(text, key, out))
			return true;
	}
	snprintf(path, sizeof(path), "%s/%s", root, file);
	return read_text(path, text, sizeof(text)) && find_number(text, key, out);
}

struct cgroup_count cgroup_oom_kills(void)
{
	struct cgroup_count c = { 0 };

	c.known = read_number(true, "memory.events", "oom_kill", &c.kills) ||
		  read_number(false, "memory.oom_control", "oom_kill", &c.kills);
	return c;
}

uint64_t cgroup_memory_peak(void)
{
	uint64_t peak = 0;

	if (!read_number(true, "memory.peak", "", &peak) &&
	    !read_number(false, "memory.max_usage_in_bytes", "", &peak))
		return 0;
	return peak;
}
