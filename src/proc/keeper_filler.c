/*
 * The keeper's children: forks a filler for each conversation with the engine, kills it when its
 * time is over, and does what its report says. keeper.c and its fellows call it. A filler that ends
 * without DONE counts as failed; what it may have made is found by the next sweep, if its id is not
 * known.
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

#define SETUP_FIRST_MS 250 /* a setup that failed is tried again by itself */
#define FILLER_FD 3	   /* where the child keeps its one descriptor, beside standard ones */

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
	*f = (struct keeper_filler){
		.pid = pid, .used = true, .sock = pair[0], .task = *task, .box = box
	};
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
		n += k->fillers[i].used && k->fillers[i].task.kind == FILLER_MAKE;
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

static void report_err(const struct filler_report *report, struct err *err)
{
	if (report->code == ERR_NONE)
		return;
	err_set(err, (enum err_code)report->code, "%s", report->text);
	err->retry_after_s = (int)report->retry_after_s;
	if (report->cause[0])
		err_cause(err, "%s", report->cause);
}

/* An engine that does not answer may come back as another one: everything known about it is learnt
 * again. */
static void doubt_engine(struct keeper *k, const struct err *err)
{
	if (err->code != ERR_ENGINE)
		return;
	k->volume[0] = '\0';
	k->status_ms = 0;
}

static void setup_ended(struct keeper *k, const struct filler_report *report, const struct err *err)
{
	if (err->code == ERR_NONE) {
		if (k->setup_failures > 0)
			log_info("the engine is ready again");
		memcpy(k->volume, report->volume, sizeof(k->volume));
		k->volume[sizeof(k->volume) - 1] = '\0';
		k->setup_failures = 0;
		k->sweep_next_ms = 0;
		box_hurry(k);
		/* Nobody waits for it, but grants name the engine. */
		if (!filler_running(k, FILLER_STATUS))
			filler_status(k);
		return;
	}
	if (k->setup_failures == 0 || strcmp(k->setup_err.text, err->text) != 0)
		log_err("the engine is not ready: %s: %s", err->text, err->cause);
	unsigned shift = MIN(k->setup_failures++, 8u);
	k->setup_next_ms = clock_ms() + MIN(SETUP_FIRST_MS << shift, KEEPER_RETRY_MS);
	k->setup_err = *err;
	client_refuse_queued(k, err);
}

/* Once more with the volume made anew: it may have been pruned, which shows as a container that
 * does not start. */
static bool make_again(struct keeper *k, struct keeper_client *c, const struct err *err)
{
	if (err->code != ERR_SANDBOX || c->retried || clock_ms() - c->making_ms > LIMIT_MAKE_MS / 2)
		return false;
	log_warn("a container did not start and is made anew: %s: %s", err->text, err->cause);
	c->retried = true;
	c->state = CLIENT_QUEUED;
	c->until_ms = clock_ms() + LIMIT_SETUP_MS;
	c->box = NULL;
	k->volume[0] = '\0';
	k->setup_next_ms = 0;
	return true;
}

static void make_failed(struct keeper *k, struct box *b, const struct err *err)
{
	struct keeper_client *c = b->client;
	bool unknown = !b->id[0];
	box_doom(k, b);
	/* A filler that died before it knew the id may have left a container. */
	if (unknown)
		k->sweep_next_ms = 0;
	if (c && !make_again(k, c, err)) {
		c->box = NULL;
		client_refuse(k, c, err);
	}
}

static void make_ended(struct keeper *k, struct box *b, const struct err *err, int stream)
{
	struct keeper_client *c = b->client;
	if (err->code != ERR_NONE || stream < 0) {
		auto_close(&stream);
		struct err none = ERR_INIT;
		if (err->code == ERR_NONE)
			err_set(&none, ERR_INTERNAL, "The sandbox came without its stream.");
		make_failed(k, b, err->code == ERR_NONE ? &none : err);
		return;
	}
	if (!c) {
		close(stream); /* the worker has left meanwhile */
		box_doom(k, b);
		return;
	}
	b->state = BOX_LEASED;
	b->next_ms = clock_ms() + c->ask.run_ms + LIMIT_HOLD_MS;
	if (client_grant(k, c, stream) < 0)
		client_close(k, c);
}

static void remove_ended(struct box *b, const struct filler_report *report, const struct err *err)
{
	if (err->code == ERR_NONE) {
		*b = (struct box){ .state = BOX_FREE };
		return;
	}
	b->removing = false;
	b->stopped = report->stopped;
	box_later(b);
	if (b->attempts == 1 || b->attempts % 16 == 0)
		log_warn("container %.12s could not be removed (attempt %u): %s: %s", b->id,
			 b->attempts, err->text, err->cause);
}

static void status_ended(struct keeper *k, const struct filler_report *report,
			 const struct err *err)
{
	if (err->code == ERR_NONE) {
		k->status = report->status;
		if (k->status.engine[0] && lease_status_ok(&k->status))
			memcpy(k->engine, k->status.engine, sizeof(k->engine));
	} else {
		k->status = (struct lease_status){ .magic = LEASE_MAGIC, .installed = 1 };
		snprintf(k->status.problem, sizeof(k->status.problem),
			 "The Docker engine does not answer in time.");
		snprintf(k->status.fix, sizeof(k->status.fix),
			 "Look at the engine's own log and load; restart it if it hangs.");
	}
	k->status_ms = clock_ms();
	client_status_all(k);
}

static void sweep_ended(struct keeper *k, const struct err *err)
{
	if (err->code == ERR_NONE) {
		box_swept(k);
		return;
	}
	k->sweep_next_ms = clock_ms() + KEEPER_RETRY_MS;
	if (k->adopted)
		return;
	log_warn("the containers of an earlier run are not known: %s: %s", err->text, err->cause);
	client_refuse_queued(k, err);
}

/* Every way in which a filler ends comes here, once. */
static void filler_ended(struct keeper *k, const struct keeper_filler *f,
			 const struct filler_report *report, const struct err *err, int stream)
{
	doubt_engine(k, err);
	switch (f->task.kind) {
	case FILLER_SETUP:
		setup_ended(k, report, err);
		break;
	case FILLER_MAKE:
		make_ended(k, f->box, err, stream);
		break;
	case FILLER_REMOVE:
		remove_ended(f->box, report, err);
		break;
	case FILLER_SWEEP:
		sweep_ended(k, err);
		break;
	case FILLER_STATUS:
		status_ended(k, report, err);
		break;
	}
}

static bool report_ok(const struct filler_report *r)
{
	return r->magic == LEASE_MAGIC && r->code < ERR_COUNT && memchr(r->id, 0, sizeof(r->id)) &&
	       memchr(r->volume, 0, sizeof(r->volume)) && memchr(r->text, 0, sizeof(r->text)) &&
	       memchr(r->cause, 0, sizeof(r->cause));
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
	if (f->task.kind == FILLER_MAKE)
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
	if (report.word == FILLER_CREATED && f->box)
		memcpy(f->box->id, report.id, sizeof(report.id));
	else if (report.word == FILLER_ROW)
		box_row(k, &report);
}
