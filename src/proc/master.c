/*
 * The master. main calls it after setup_open; it forks the roles and waits for signals, nothing
 * else: no request byte, no word to Docker, so that whatever breaks a role cannot break what
 * restarts it.
 *
 * A child that ends is replaced at once if it served for a while (YOUNG_MS) or ended by itself with
 * status 0 (recycled). One that died young makes its role wait, twice as long each time. Reload: a
 * bad file keeps the old settings; workers and janitor get SIGTERM, finish their request and are
 * replaced; the keeper gets SIGHUP and keeps its jobs. Stop: all get SIGTERM; the keeper ends by
 * itself after the last job's container is gone.
 */
#include "proc/master.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "conf.h"
#include "limits.h"
#include "metrics.h"
#include "proc/guard.h"
#include "proc/role.h"
#include "proc/setup.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define YOUNG_MS 2000 /* a role that lives so long has started well */
#define BACKOFF_FIRST_MS 100
#define BACKOFF_LAST_MS 10000 /* an operator who mends the cause waits no longer than this */

struct child {
	pid_t pid;
	enum role_kind kind;
	size_t place;		     /* its row of the metrics; 0 is the master's own */
	int64_t started_ms, kill_ms; /* kill_ms: 0 or when SIGKILL follows a SIGTERM */
	bool told;		     /* has got SIGTERM */
};

struct master {
	const struct setup *setup;
	int signals;
	struct child *children;
	size_t count, room;
	unsigned failures[ROLE_COUNT];
	int64_t start_ms[ROLE_COUNT]; /* not before */
	bool taken[METRICS_PLACES];
	bool stopping;
};

static int live(const struct master *m, enum role_kind kind)
{
	int n = 0;
	for (size_t i = 0; i < m->count; i++)
		n += m->children[i].kind == kind;
	return n;
}

/* The lowest that no live child has; beyond the last there are no counts. */
static size_t free_place(const struct master *m)
{
	size_t place = 1;
	while (place < METRICS_PLACES && m->taken[place])
		place++;
	return place;
}

static void place_set(struct master *m, size_t place, bool taken)
{
	if (place < METRICS_PLACES)
		m->taken[place] = taken;
}

/* In the child: from here to its end. */
static NORETURN void child_run(const struct master *m, enum role_kind kind, size_t place)
{
	const struct role *role = &role_table[kind];
	struct err err = ERR_INIT;
	metrics_place(place);
	prctl(PR_SET_NAME, role->comm, 0, 0, 0);
	log_role(role->name);
	close(m->signals);
	close(m->setup->pid_fd);
	if (!role->has_fcgi)
		close(m->setup->fcgi_fd);
	if (!role->has_keeper)
		close(m->setup->keeper_fd);
	if (guard_enter(role, m->setup, &err) < 0) {
		log_err("%s: %s", err.text, err.cause);
		_exit(1);
	}
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigaction(SIGINT, &ignore,
		  NULL); /* a terminal's ^C goes to all: the master decides what it means */
	sigaction(SIGPIPE, &ignore, NULL);
	if (role->unprivileged)
		sigaction(SIGHUP, &ignore, NULL);
	/* The master's mask stays: a SIGTERM that comes before the role is ready to take it waits.
	 */
	exit(role->run(m->setup));
}

static void count_live(const struct master *m, enum role_kind kind)
{
	metrics_set(METRIC_PROCESSES, role_table[kind].name, (uint64_t)live(m, kind));
}

static void child_add(struct master *m, pid_t pid, enum role_kind kind, size_t place)
{
	if (m->count == m->room) {
		m->room = m->room ? 2 * m->room : 32;
		m->children = xrealloc(m->children, m->room * sizeof(*m->children));
	}
	m->children[m->count++] = (struct child){
		.pid = pid, .kind = kind, .place = place, .started_ms = clock_ms()
	};
	place_set(m, place, true);
	count_live(m, kind);
}

static void role_failed(struct master *m, enum role_kind kind)
{
	int64_t now = clock_ms();
	/* Several that die together have one cause: they count once. */
	if (m->start_ms[kind] > now)
		return;
	unsigned shift = MIN(m->failures[kind]++, 7u);
	m->start_ms[kind] = now + MIN(BACKOFF_FIRST_MS << shift, BACKOFF_LAST_MS);
}

static void start_one(struct master *m, enum role_kind kind)
{
	size_t place = free_place(m);
	metrics_reach(place);
	pid_t pid = fork();
	if (pid == 0)
		child_run(m, kind, place);
	if (pid < 0) {
		log_err("cannot fork a %s: %s", role_table[kind].name, strerror(errno));
		role_failed(m, kind);
		return;
	}
	child_add(m, pid, kind, place);
	log_debug("%s %ld started", role_table[kind].name, (long)pid);
}

static void tell(struct child *c, int64_t kill_ms)
{
	if (c->told)
		return;
	c->told = true;
	c->kill_ms = kill_ms;
	kill(c->pid, SIGTERM);
}

/* Starts what is missing. Too many there are only after a reload, which has told all to end. */
static void fill_roles(struct master *m)
{
	int64_t now = clock_ms();
	for (enum role_kind kind = 0; kind < ROLE_COUNT; kind++) {
		int want = role_table[kind].count();
		while (live(m, kind) < want && m->start_ms[kind] <= now)
			start_one(m, kind);
	}
}

static void log_end(const struct child *c, int status)
{
	const char *name = role_table[c->kind].name;
	if (WIFSIGNALED(status) && !(c->told && WTERMSIG(status) == SIGTERM))
		log_warn("%s %ld died of signal %d", name, (long)c->pid, WTERMSIG(status));
	else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		log_warn("%s %ld ended with status %d", name, (long)c->pid, WEXITSTATUS(status));
	else
		log_debug("%s %ld ended", name, (long)c->pid);
}

static void child_ended(struct master *m, size_t i, int status)
{
	struct child c = m->children[i];
	m->children[i] = m->children[--m->count];
	log_end(&c, status);
	metrics_ended(c.place);
	place_set(m, c.place, false);
	count_live(m, c.kind);
	if (!c.told && status != 0)
		metrics_add(METRIC_ROLE_RESTARTS, role_table[c.kind].name, NULL, 1);
	if (clock_ms() - c.started_ms >= YOUNG_MS)
		m->failures[c.kind] = 0;
	else if (!c.told && status != 0)
		role_failed(m, c.kind);
}

static void reap(struct master *m)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (size_t i = 0; i < m->count; i++)
			if (m->children[i].pid == pid) {
				child_ended(m, i, status);
				break;
			}
}

static void stop(struct master *m)
{
	if (m->stopping) {
		/* Asked a second time: whoever waits for us wants it now. */
		for (size_t i = 0; i < m->count; i++)
			if (m->children[i].kind != ROLE_KEEPER)
				kill(m->children[i].pid, SIGKILL);
		return;
	}
	log_info("stopping");
	m->stopping = true;
	int64_t now = clock_ms();
	for (size_t i = 0; i < m->count; i++) {
		struct child *c = &m->children[i];
		int64_t grace =
			c->kind == ROLE_KEEPER ? LIMIT_STOP_KEEPER_MS : LIMIT_STOP_WORKER_MS;
		tell(c, now + grace);
		c->kill_ms = now + grace; /* a retiring one too */
	}
}

static void reload(struct master *m)
{
	struct err err = ERR_INIT;
	if (setup_reload(m->setup, &err) < 0) {
		log_err("reload refused, the old configuration stays: %s", err.text);
		return;
	}
	log_info("configuration reloaded");
	for (size_t i = 0; i < m->count; i++) {
		if (m->children[i].kind == ROLE_KEEPER)
			kill(m->children[i].pid, SIGHUP);
		else
			tell(&m->children[i], 0);
	}
}

static void read_signals(struct master *m)
{
	struct signalfd_siginfo info;
	while (read(m->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(m);
		else if (info.ssi_signo == SIGHUP && !m->stopping)
			reload(m);
		else if (info.ssi_signo != SIGHUP)
			stop(m);
	}
}

/* Sends the SIGKILLs that are due; returns when to look again. */
static int64_t next_wake(struct master *m)
{
	int64_t now = clock_ms(), next = now + 60000;
	for (size_t i = 0; i < m->count; i++) {
		struct child *c = &m->children[i];
		if (c->kill_ms > 0 && c->kill_ms <= now) {
			log_warn("%s %ld did not stop in time: killed", role_table[c->kind].name,
				 (long)c->pid);
			kill(c->pid, SIGKILL);
			c->kill_ms = 0;
		}
		if (c->kill_ms > 0)
			next = MIN(next, c->kill_ms);
	}
	for (enum role_kind kind = 0; kind < ROLE_COUNT && !m->stopping; kind++)
		if (live(m, kind) < role_table[kind].count())
			next = MIN(next, MAX(m->start_ms[kind], now));
	return next;
}

static int signals_open(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int master_run(const struct setup *s)
{
	struct master m = { .setup = s, .signals = signals_open() };
	struct err err = ERR_INIT;
	if (m.signals < 0) {
		log_err("signalfd: %s", strerror(errno));
		return 1;
	}
	if (metrics_open(&err) < 0) {
		log_err("%s: %s", err.text, err.cause);
		return 1;
	}
	metrics_reach(0);
	metrics_place(0);
	log_info("started: %d workers, %lld jobs at once, sockets in %s", conf_workers(conf),
		 (long long)conf->jobs, conf->run_dir);
	while (!m.stopping || m.count > 0) {
		if (!m.stopping)
			fill_roles(&m);
		io_wait(m.signals, POLLIN, next_wake(&m));
		read_signals(&m);
	}
	log_info("stopped");
	metrics_close();
	free(m.children);
	close(m.signals);
	return 0;
}
