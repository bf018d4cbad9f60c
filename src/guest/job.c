/*
 * From JOB to the moment the driver has taken it: pieces put together, files staged, the
 * interpreter given what it needs. serve.c calls these for the frames it reads. The job's text
 * lives in its own mapping, gone before the program's memory counts.
 */
#include "guest/job.h"

#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DRIVER_MAIN "main.py" /* the name that the waiting interpreter was started with */

/* Names that the interpreter or the C library reads at its start: a job that sets one gets a fresh
 * interpreter. */
static const char *const start_names[] = { "PYTHON", "LC_", "LANG", "MALLOC_", "GLIBC_", "TZ" };

static void drop_text(struct guest *g)
{
	if (g->text)
		munmap(g->text, FRAME_JOB_MAX);
	g->text = NULL;
}

int job_take(struct guest *g, const uint8_t *data, uint32_t len)
{
	if (g->text_whole || g->text_len + len > FRAME_JOB_MAX)
		return why_set(&g->why, FRAME_FAIL_PROTOCOL,
			       "the job is longer than its last piece");
	if (!g->text) {
		g->text = mmap(NULL, FRAME_JOB_MAX, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (g->text == MAP_FAILED) {
			g->text = NULL;
			return why_sys(&g->why, FRAME_FAIL_START, "no memory for the job");
		}
	}
	memcpy(g->text + g->text_len, data, len);
	g->text_len += len;
	g->state = GUEST_STAGING;
	if (len == FRAME_MAX)
		return 0;
	g->text_whole = true;
	if (!frame_get_job(g->text, g->text_len, &g->job))
		return why_set(&g->why, FRAME_FAIL_PROTOCOL, "the job is malformed");
	memcpy(g->main_name, g->job.main_name, g->job.main_name_len);
	g->main_name[g->job.main_name_len] = '\0';
	return 0;
}

int job_put(struct guest *g, const uint8_t *data, uint32_t len)
{
	struct frame_in in = { .buf = data, .len = len, .ok = true };
	uint32_t path_len;
	const char *path = frame_get_field(&in, &path_len);
	uint64_t size = frame_get_u64(&in);

	if (!g->text_whole || !frame_in_done(&in))
		return why_set(&g->why, FRAME_FAIL_PROTOCOL,
			       "a malformed PUT, or one before the job");
	return inputs_begin(&g->inputs, path, path_len, size, &g->why);
}

int job_data(struct guest *g, const uint8_t *data, uint32_t len)
{
	return inputs_data(&g->inputs, data, len, &g->why);
}

int job_end(struct guest *g, const uint8_t *data UNUSED, uint32_t len)
{
	if (len)
		return why_set(&g->why, FRAME_FAIL_PROTOCOL, "END has no payload");
	return inputs_end(&g->inputs, &g->why);
}

static bool sets_start_name(const struct frame_job *job)
{
	for (uint32_t at = 0; at < job->env_len; at += (uint32_t)strlen(job->env + at) + 1) {
		for (size_t i = 0; i < ARRAY_SIZE(start_names); i++) {
			if (strncmp(job->env + at, start_names[i], strlen(start_names[i])) == 0)
				return true;
		}
	}
	return false;
}

static int start_fresh(struct guest *g)
{
	child_clear(&g->child);
	preimport_stop(&g->preimport);
	g->spec.main_name = g->main_name;
	g->spec.env = g->job.env;
	g->spec.env_len = g->job.env_len;
	if (child_start(&g->child, &g->spec, &g->why) < 0)
		return -1;
	return child_await(&g->child, CHILD_READY, g->in_fd, GUEST_READY_MS, &g->why);
}

/*
 * The waiting interpreter serves if it would have been started with the same words, and if no
 * module has been imported that may have looked for those that it gets only now.
 */
static int fit_interpreter(struct guest *g)
{
	bool said = g->job.env_len || g->job.argv_len;

	if (strcmp(g->main_name, DRIVER_MAIN) == 0 && !sets_start_name(&g->job) &&
	    !(said && preimport_used(&g->preimport)))
		return 0;
	return start_fresh(g);
}

static int write_args(struct guest *g)
{
	int fd;
	ssize_t n;

	if (g->job.args_len == 0)
		return 0;
	fd = open(GUEST_ARGS_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return why_sys(&g->why, FRAME_FAIL_START, "creating %s", GUEST_ARGS_FILE);
	n = write(fd, g->job.args, g->job.args_len);
	close(fd);
	if (n == (ssize_t)g->job.args_len)
		return 0;
	errno = n < 0 ? errno : ENOSPC;
	return why_sys(&g->why, FRAME_FAIL_START, "writing %s", GUEST_ARGS_FILE);
}

static int give(struct guest *g)
{
	int wait_ms = preimport_busy(&g->preimport) ? GUEST_IMPORT_MS : GUEST_ACCEPT_MS;

	g->oom_before = cgroup_oom_kills();
	if (child_give_job(&g->child, &g->job, wait_ms, &g->why) < 0)
		return -1;
	return child_await(&g->child, CHILD_TAKEN, g->in_fd, wait_ms, &g->why);
}

/* An interpreter with imports may refuse, be busy with one of them, or have died of it. */
static int hand_over(struct guest *g)
{
	if (give(g) == 0)
		return 0;
	if (!g->preimport.active || g->why.code == FRAME_FAIL_CANCELLED)
		return -1;
	g->why = (struct why){ 0 };
	return start_fresh(g) < 0 ? -1 : give(g);
}

int job_start(struct guest *g)
{
	if (!g->text_whole || inputs_writing(&g->inputs))
		return why_set(&g->why, FRAME_FAIL_PROTOCOL, "GO before the job is complete");
	if (fit_interpreter(g) < 0 || write_args(g) < 0)
		return -1;
	inputs_seal(&g->inputs);
	if (hand_over(g) < 0)
		return -1;
	child_close(&g->child.ctl);
	g->job.args = g->job.argv = g->job.env = g->job.main_name = NULL;
	g->spec = (struct child_spec){ 0 };
	drop_text(g);
	return 0;
}
