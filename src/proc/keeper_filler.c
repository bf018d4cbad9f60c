/*
 * The keeper's children: forks a filler for each conversation with the engine, kills it when its
 * time is over, and reads its reports. keeper.c and its fellows call it; what an end means stands
 * in keeper_ended.c. A filler that ends without DONE counts as failed; what it may have made is
 * found by the next sweep, if its id is not known.
 */
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "limits.h"
#include "proc/keeper.h"
#include "proc/setup.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILLER_FD 3 /* where the child keeps its one descriptor, beside standard ones */

/* In the child: nothing of the keeper's stays but the pair's end. Connections and streams above
 * all: a copy would keep a lease alive. */
static NORETURN void child_run(const struct filler_task *task, int sock, pid_t keeper)
{
	sigset_t none;
	sigemptyset(&none);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != keeper)
		_exit(1);
	if (sock != FILLER_FD && dup2(sock, FILLER_FD) < 0)
		_exit(1);
	close_range(FILLER_FD + 1, ~0U, 0);
	prctl(PR_SET_NAME, "belljar-filler", 0, 0, 0);
	log_role("filler");
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGHUP, SIG_IGN); /* a terminal's; a reload is the keeper's business */
	_exit(filler_run(task, FILLER_FD));
}

static struct keeper_filler *free_filler(struct keeper *k)
{
	for (size_t i = 0; i < KEEPER_FILLERS; i++)
		if (!k->fillers[i].used && k->fillers[i].pid == 0)
			return &k->fillers[i];
	return NULL;
}

bool filler_start(struct keeper *k, const struct filler_task *task, struct box *box)
{
	struct keeper_filler *f = free_filler(k);
	int pair[2];
	if (!f || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	pid_t keeper = getpid(), pid = fork();
	if (pid == 0)
		child_run(task, pair[1], keeper);
	close(pair[1]);
	if (pid < 0) {
		log_err("cannot fork a filler: %s", strerror(errno));
		close(pair[0]);
		return false;
	}
	*f = (struct keeper_filler){ .pid = pid,
				     .used = true,
				     .sock = pair[0],
				     .task = *task,
				     .box = box,
				     .began_us = clock_us() };
	return true;
}

bool filler_running(const struct keeper *k, enum filler_kind kind)
{
	for (size_t i = 0; i < KEEPER_FILLERS; i++)
		if (k->fillers[i].used && k->fillers[i].task.kind == kind)
			return true;
	return false;
}

bool filler_may_make(const struct keeper *k)
{
	int n = 0;
	for (size_t i = 0; i < KEEPER_FILLERS; i++)
		n += k->fillers[i].used && (k->fillers[i].task.kind == FILLER_MAKE ||
					    k->fillers[i].task.kind == FILLER_UPDATE);
	return n < KEEPER_MAKES;
}

void filler_reap(struct keeper *k)
{
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (size_t i = 0; i < KEEPER_FILLERS; i++)
			if (k->fillers[i].pid == pid)
				k->fillers[i].pid = 0;
}

int64_t filler_timers(struct keeper *k, int64_t now, int64_t next)
{
	for (size_t i = 0; i < KEEPER_FILLERS; i++) {
		struct keeper_filler *f = &k->fillers[i];
		/* Also one that has reported but does not end. */
		if ((!f->used && f->pid == 0) || f->killed)
			continue;
		int64_t end = f->task.deadline_ms + LIMIT_LATE_MS;
		if (end > now) {
			next = MIN(next, end);
			continue;
		}
		f->killed = true;
		if (f->pid > 0)
			kill(f->pid, SIGKILL);
	}
	return next;
}

static bool report_ok(const struct filler_report *r)
{
	return r->magic == LEASE_MAGIC && r->code < ERR_COUNT && memchr(r->id, 0, sizeof(r->id)) &&
	       memchr(r->volume, 0, sizeof(r->volume)) && memchr(r->text, 0, sizeof(r->text)) &&
	       memchr(r->cause, 0, sizeof(r->cause));
}

static void report_err(const struct filler_report *report, struct err *err)
{
	if (report->code == ERR_NONE)
		return;
	err_set(err, (enum err_code)report->code, "%s", report->text);
	err->retry_after_s = (int)report->retry_after_s;
	if (report->cause[0])
		err_cause(err, "%s", report->cause);
}

static void filler_close(struct keeper_filler *f)
{
	close(f->sock);
	f->sock = -1;
	f->used = false; /* the place is free once the process is reaped, too */
}

/* Ended without its word: killed at its deadline, or crashed; or it lives and spoke nonsense. The
 * pid is not reaped yet, so it is nobody else's. */
static void filler_lost(struct keeper *k, struct keeper_filler *f)
{
	if (f->pid > 0)
		kill(f->pid, SIGKILL);
	static const struct filler_report none;
	struct err err = ERR_INIT;
	if (f->task.kind == FILLER_MAKE || f->task.kind == FILLER_UPDATE)
		err_set(&err, ERR_SANDBOX, "The sandbox could not be started in time.");
	else
		err_set(&err, ERR_ENGINE, "The Docker engine does not answer in time.");
	err_cause(&err, f->killed ? "the filler was killed at its deadline"
				  : "the filler ended without a report");
	const struct keeper_filler ended = *f;
	filler_close(f);
	filler_ended(k, &ended, &none, &err, -1);
}

/* Ended with its word; fd is MAKE's stream. */
static void filler_said(struct keeper *k, struct keeper_filler *f,
			const struct filler_report *report, int fd)
{
	const struct keeper_filler ended = *f;
	struct err err = ERR_INIT;
	report_err(report, &err);
	filler_close(f);
	if (fd >= 0 && ended.task.kind != FILLER_MAKE)
		close(steal_fd(&fd));
	filler_ended(k, &ended, report, &err, fd);
}

void filler_event(struct keeper *k, struct keeper_filler *f)
{
	struct filler_report report;
	struct err err = ERR_INIT;
	int fd = -1;
	if (io_recv_fd(f->sock, &report, sizeof(report), &fd, clock_ms(), &err) < 0 ||
	    !report_ok(&report)) {
		if (fd >= 0)
			close(fd);
		filler_lost(k, f);
		return;
	}
	if (report.word == FILLER_DONE) {
		filler_said(k, f, &report, fd);
		return;
	}
	if (fd >= 0)
		close(fd); /* only DONE brings one */
	if (report.word == FILLER_CREATED && f->box) {
		memcpy(f->box->id, report.id, sizeof(report.id));
		count_created(f);
	} else if (report.word == FILLER_ROW)
		box_row(k, &report);
}
