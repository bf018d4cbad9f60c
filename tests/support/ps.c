/*
 * Reads /proc for the system tests: process tree, names, status lines, descriptors, memory. Changes
 * nothing but the mark of a peak.
 */
#include "support/ps.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "support/tool.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* State and parent from /proc/PID/stat; false when the process is gone. */
static bool read_stat(pid_t pid, char *out_state, pid_t *out_parent)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	AUTO(strbuf) text = STRBUF(8192);
	if (!tool_read(path, &text))
		return false;
	const char *end = strrchr(text.buf, ')'); /* the name may hold anything */
	int parent = 0;
	if (!end || sscanf(end + 1, " %c %d", out_state, &parent) != 2)
		return false;
	*out_parent = parent;
	return true;
}

bool ps_alive(pid_t pid)
{
	char state;
	pid_t parent;
	return pid > 0 && read_stat(pid, &state, &parent) && state != 'Z' && state != 'X';
}

static bool is_gone(void *arg)
{
	return !ps_alive(*(pid_t *)arg);
}

bool ps_wait_gone(pid_t pid)
{
	return tool_until(is_gone, &pid, TOOL_WAIT_MS);
}

size_t ps_children(pid_t parent, pid_t *out, size_t max)
{
	size_t n = 0;
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && (e = readdir(d));) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10), above;
		char state;
		if (pid <= 0 || !read_stat(pid, &state, &above) || above != parent || state == 'Z')
			continue;
		if (n < max)
			out[n] = pid;
		n++;
	}
	if (d)
		closedir(d);
	return MIN(n, max);
}

size_t ps_tree(pid_t top, pid_t *out, size_t max)
{
	size_t n = 1;
	out[0] = top;
	for (size_t i = 0; i < n; i++)
		n += ps_children(out[i], out + n, max - n);
	return n;
}

bool ps_named(pid_t pid, const char *word)
{
	char path[64];
	AUTO(strbuf) text = STRBUF(65536);
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	(void)tool_read(path, &text);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	(void)tool_read(path, &text);
	return memmem(text.buf, text.len, word, strlen(word)) != NULL;
}

int ps_fd_count(pid_t pid)
{
	char path[64];
	int n = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static char *field_of(const char *path, const char *field)
{
	AUTO(strbuf) text = STRBUF(65536);
	size_t n = strlen(field);
	(void)tool_read(path, &text);
	for (const char *line = text.buf; *line;) {
		size_t len = strcspn(line, "\n");
		if (strncmp(line, field, n) == 0 && line[n] == ':') {
			const char *v = line + n + 1 + strspn(line + n + 1, " \t");
			return xstrndup(v, len - (size_t)(v - line));
		}
		line += len + (line[len] == '\n');
	}
	return xstrdup("");
}

char *ps_status(pid_t pid, const char *field)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return field_of(path, field);
}

int64_t ps_pss_kb(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	AUTO_FREE char *value = field_of(path, "Pss");
	return strtol(value, NULL, 10);
}

int64_t ps_rss_kb(pid_t pid)
{
	AUTO_FREE char *value = ps_status(pid, "VmRSS");
	return strtol(value, NULL, 10);
}

static int64_t number_of(const char *text)
{
	return *text ? strtol(text, NULL, 10) : -1;
}

int64_t ps_peak_kb(pid_t pid)
{
	AUTO_FREE char *value = ps_status(pid, "VmHWM");
	return number_of(value);
}

bool ps_forget_peak(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/clear_refs", (int)pid);
	FILE *f = fopen(path, "we");
	if (!f)
		return false;
	bool ok = fputs("5", f) >= 0; /* proc(5): resets VmHWM */
	return fclose(f) == 0 && ok;
}

int64_t ps_written(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	AUTO_FREE char *value = field_of(path, "wchar");
	return number_of(value);
}
