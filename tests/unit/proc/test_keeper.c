/* The keeper's tables without an engine: what is counted, who comes next, what goes first. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "conf.h"
#include "limits.h"
#include "proc/keeper.h"
#include "proc/setup.h"
#include "unit/suites.h"

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct keeper *k;
static struct setup setup;
static struct conf c;
static char dir[32], path[64];
static uid_t user;

static void open_all(void)
{
	struct err err = ERR_INIT;
	setenv("DOCKER_HOST", "unix:///nonexistent/engine.sock", 1);
	setenv("LOG_LEVEL", "error", 1);
	ck_assert_int_eq(conf_load(&c, NULL, &err), 0);
	conf_use(&c);
	setup_log();
	memcpy(dir, "/tmp/belljar-unit-XXXXXX", 25);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0755), 0);
	snprintf(path, sizeof(path), "%s/keeper.sock", dir);
	/* Root's connections are not counted, so the tests connect as somebody else. */
	user = geteuid() == 0 ? 65534 : geteuid();
	setup = (struct setup)SETUP_INIT;
	setup.uid = user;
	setup.keeper_fd = io_unix_listen(path, SOCK_SEQPACKET, 64, 0666, &err);
	ck_assert_int_ge(setup.keeper_fd, 0);
	k = xcalloc(1, sizeof(*k));
	k->setup = &setup;
	k->adopted = true;
	snprintf(k->volume, sizeof(k->volume), "v");
}

static void close_all(void)
{
	for (size_t i = 0; i < KEEPER_FILLERS; i++) {
		if (k->fillers[i].used)
			close(k->fillers[i].sock);
		if (k->fillers[i].pid > 0)
			waitpid(k->fillers[i].pid, NULL, 0);
	}
	for (size_t i = 0; i < KEEPER_CLIENTS; i++)
		if (k->clients[i].state != CLIENT_FREE)
			close(k->clients[i].conn);
	close(setup.keeper_fd);
	unlink(path);
	rmdir(dir);
	free(k);
	conf_use(NULL);
	conf_clear(&c);
	unsetenv("DOCKER_HOST");
	unsetenv("LOG_LEVEL");
}

static struct box *add_box(enum box_state state, unsigned number, unsigned attempts)
{
	char id[65];
	snprintf(id, sizeof(id), "%064x", number);
	struct box *b = box_new(k, state, id);
	ck_assert_ptr_nonnull(b);
	b->attempts = attempts;
	return b;
}

static int removing(unsigned least, unsigned most)
{
	int n = 0;
	for (const struct box *b = k->boxes; b < k->boxes + KEEPER_BOXES; b++)
		n += b->removing && b->attempts >= least && b->attempts <= most;
	return n;
}

/* Those that refuse to go are first in the table: in table order they would take all places. */
START_TEST(removals_that_fail_block_no_others)
{
	for (unsigned i = 0; i < 8; i++)
		add_box(BOX_DOOMED, i, 3);
	for (unsigned i = 8; i < 12; i++)
		add_box(BOX_DOOMED, i, 0);
	int64_t now = clock_ms();
	box_timers(k, now, now + 1000);
	ck_assert_int_eq(removing(1, 1), 4); /* all fresh ones */
	ck_assert_int_eq(removing(2, 99), 0);
}
END_TEST

START_TEST(retries_leave_places_free)
{
	for (unsigned i = 0; i < 8; i++)
		add_box(BOX_DOOMED, i, 3);
	int64_t now = clock_ms();
	box_timers(k, now, now + 1000);
	ck_assert_int_eq(removing(2, 99), 2);
	add_box(BOX_DOOMED, 9, 0);
	box_timers(k, now, now + 1000);
	ck_assert_int_eq(removing(1, 1), 1);
}
END_TEST

START_TEST(a_failed_removal_waits_longer_each_time)
{
	struct box *b = add_box(BOX_DOOMED, 1, 0);
	int64_t last = 0, now = clock_ms();
	for (b->attempts = 1; b->attempts < 40; b->attempts++) {
		box_later(b);
		int64_t wait = b->next_ms - now;
		ck_assert_int_ge(wait, MIN(last, 4000));
		ck_assert_int_le(wait, 5500);
		last = wait;
	}
	ck_assert_int_ge(last, 5000);
}
END_TEST

START_TEST(the_dead_take_no_slot)
{
	add_box(BOX_LEASED, 1, 0);
	add_box(BOX_DOOMED, 2, 1);
	ck_assert_int_eq(box_count(k), 2);
	add_box(BOX_DOOMED, 3, 1)->stopped = true;
	ck_assert_int_eq(box_count(k), 2);
}
END_TEST

static struct filler_report row(unsigned number, bool running, int64_t deadline_wall_s)
{
	struct filler_report r = { .running = running, .deadline_wall_s = deadline_wall_s };
	snprintf(r.id, sizeof(r.id), "%064x", number);
	return r;
}

static struct box *swept_box(bool adopted, bool running, int64_t deadline_wall_s)
{
	const struct filler_report r = row(7, running, deadline_wall_s);
	k->adopted = adopted;
	k->sweep++;
	box_row(k, &r);
	return &k->boxes[0];
}

START_TEST(only_the_first_sweep_adopts)
{
	int64_t soon = clock_wall_ms() / 1000 + 20;
	ck_assert_int_eq(swept_box(false, true, soon)->state, BOX_ADOPTED);
	*k->boxes = (struct box){ .state = BOX_FREE };
	ck_assert_int_eq(swept_box(false, false, soon)->state, BOX_DOOMED);
	*k->boxes = (struct box){ .state = BOX_FREE };
	ck_assert_int_eq(swept_box(false, true, 0)->state, BOX_DOOMED);
	*k->boxes = (struct box){ .state = BOX_FREE };
	ck_assert_int_eq(swept_box(true, true, soon)->state, BOX_DOOMED);
}
END_TEST

/* A label is text that others may write, and the wall clock may have been set meanwhile. */
START_TEST(no_adopted_container_stays_for_ever)
{
	struct box *b = swept_box(false, true, INT64_MAX);
	int64_t now = clock_ms();
	ck_assert_int_eq(b->state, BOX_ADOPTED);
	ck_assert_int_gt(b->next_ms, now);
	ck_assert_int_le(b->next_ms, now + conf->max_timeout_ms + LIMIT_MAKE_MS + LIMIT_STAGES_MS +
					     LIMIT_HOLD_MS);
	ck_assert_int_eq(box_timers(k, now, INT64_MAX), b->next_ms);
	box_timers(k, b->next_ms, INT64_MAX);
	ck_assert_int_eq(b->state, BOX_DOOMED);
	ck_assert(b->removing);
}
END_TEST

START_TEST(an_adopted_container_that_vanished_is_free)
{
	struct box *b = swept_box(false, true, clock_wall_ms() / 1000 + 20);
	box_swept(k);
	ck_assert_int_eq(b->state, BOX_ADOPTED);
	k->sweep++;
	box_swept(k);
	ck_assert_int_eq(b->state, BOX_FREE);
}
END_TEST

START_TEST(what_is_in_the_making_is_not_swept)
{
	ck_assert_ptr_nonnull(box_new(k, BOX_MAKING, ""));
	const struct filler_report r = row(9, true, 0);
	box_row(k, &r);
	ck_assert(k->sweep_unsure);
	ck_assert_int_eq(k->boxes[1].state, BOX_FREE);
}
END_TEST

/* Connects as SERVICE_USER; the keeper has accepted (or refused) it on return. */
static int join(void)
{
	struct err err = ERR_INIT;
	bool root = geteuid() == 0;
	if (root)
		ck_assert_int_eq(seteuid(user), 0);
	int fd = io_unix_connect(path, SOCK_SEQPACKET, clock_ms() + 5000, &err);
	if (root)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_ge(fd, 0);
	client_accept(k);
	return fd;
}

static struct keeper_client *client_at(size_t i)
{
	return &k->clients[i];
}

static void ask(int fd, struct keeper_client *client)
{
	const struct lease_ask take = { .magic = LEASE_MAGIC,
					.kind = LEASE_TAKE,
					.wait_ms = 1000,
					.run_ms = 1000,
					.tenant = "t",
					.limits = { .memory_mb = 128,
						    .cpu_milli = 500,
						    .pids = 32,
						    .disk_mb = 16,
						    .tmp_mb = 16 } };
	struct err err = ERR_INIT;
	ck_assert_int_eq(io_send_fd(fd, &take, sizeof(take), -1, &err), 0);
	client_event(k, client);
}

/* The code of the keeper's answer; ERR_COUNT: it has closed without one. */
static unsigned answer_code(int fd)
{
	struct lease_grant grant;
	struct err err = ERR_INIT;
	AUTO_CLOSE int stream = -1;
	if (io_recv_fd(fd, &grant, sizeof(grant), &stream, clock_ms() + 1000, &err) < 0)
		return ERR_COUNT;
	return grant.code;
}

START_TEST(one_process_has_few_connections)
{
	int fds[KEEPER_PEER_CONNS + 1];
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = join();
	for (size_t i = 0; i < KEEPER_PEER_CONNS; i++)
		ck_assert_int_eq(client_at(i)->state, CLIENT_ASKING);
	ck_assert_int_eq(client_at(KEEPER_PEER_CONNS)->state, CLIENT_FREE);
	ck_assert_uint_eq(answer_code(fds[KEEPER_PEER_CONNS]), ERR_COUNT);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}
END_TEST

START_TEST(one_process_has_one_job)
{
	int first = join(), second = join();
	ask(first, client_at(0));
	ck_assert_int_eq(client_at(0)->state, CLIENT_QUEUED);
	ask(second, client_at(1));
	ck_assert_uint_eq(answer_code(second), ERR_BUSY);
	close(second);
	/* The end of the first is not read yet when the next question is. */
	second = join();
	close(first);
	ask(second, client_at(1));
	ck_assert_int_eq(client_at(0)->state, CLIENT_FREE);
	ck_assert_int_eq(client_at(1)->state, CLIENT_QUEUED);
	close(second);
}
END_TEST

START_TEST(first_come_first_served)
{
	for (size_t i = 0; i < 3; i++)
		*client_at(i) = (struct keeper_client){ .state = CLIENT_QUEUED,
							.conn = dup(0),
							.order = 10 - i,
							.peer = (pid_t)i + 5 };
	k->clients_top = 3;
	ck_assert_ptr_eq(admit_next(k), client_at(2));
	/* A process with its share in the making waits; the others don't wait for it. */
	add_box(BOX_MAKING, 1, 0)->peer = client_at(2)->peer;
	ck_assert_ptr_eq(admit_next(k), client_at(2));
	add_box(BOX_LEASED, 2, 0)->peer = client_at(2)->peer;
	ck_assert_ptr_eq(admit_next(k), client_at(1));
	ck_assert(admit_waits(k));
}
END_TEST

START_TEST(a_stopping_keeper_takes_no_job)
{
	AUTO_CLOSE int fd = join();
	k->draining = true;
	ask(fd, client_at(0));
	ck_assert_uint_eq(answer_code(fd), ERR_BUSY);
	ck_assert_int_eq(client_at(0)->state, CLIENT_FREE);
}
END_TEST

/* Why a job was not served: no slot, or no engine. */
START_TEST(the_reason_is_the_right_one)
{
	for (int ready = 0; ready < 2; ready++) {
		AUTO_CLOSE int fd = join();
		k->adopted = ready;
		ask(fd, client_at(0));
		int64_t until = client_at(0)->until_ms;
		int64_t due = client_timers(k, until - 1, INT64_MAX);
		ck_assert_int_eq(due, ready ? until : client_at(0)->asked_ms + LIMIT_SETUP_MS);
		client_timers(k, due, INT64_MAX);
		ck_assert_uint_eq(answer_code(fd), ready ? ERR_BUSY : ERR_ENGINE);
	}
}
END_TEST

/* What speaks nonsense is killed; the container it may have made is looked for. */
START_TEST(a_mad_filler_is_killed)
{
	int pair[2], status;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	k->sweep_next_ms = INT64_MAX;
	struct keeper_filler *f = &k->fillers[0];
	*f = (struct keeper_filler){ .pid = pid,
				     .used = true,
				     .sock = pair[0],
				     .task = { .kind = FILLER_MAKE },
				     .box = box_new(k, BOX_MAKING, "") };
	ck_assert_int_eq(send(pair[1], "nonsense", 8, 0), 8);
	filler_event(k, f);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	f->pid = 0;
	ck_assert_int_eq(k->boxes[0].state, BOX_FREE);
	ck_assert_int_eq(k->sweep_next_ms, 0);
	close(pair[1]);
}
END_TEST

/* One that has reported but does not end keeps its place until it is killed. */
START_TEST(a_filler_that_does_not_end_is_killed)
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	k->fillers[0] = (struct keeper_filler){ .pid = pid, .task = { .deadline_ms = 1000 } };
	filler_timers(k, 1000 + LIMIT_LATE_MS - 1, INT64_MAX);
	ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
	filler_timers(k, 1000 + LIMIT_LATE_MS, INT64_MAX);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	k->fillers[0].pid = 0;
}
END_TEST

Suite *suite_proc_keeper(void)
{
	Suite *s = suite_create("proc_keeper");
	TCase *tc = tcase_create("proc_keeper");
	tcase_add_checked_fixture(tc, open_all, close_all);
	tcase_add_test(tc, removals_that_fail_block_no_others);
	tcase_add_test(tc, retries_leave_places_free);
	tcase_add_test(tc, a_failed_removal_waits_longer_each_time);
	tcase_add_test(tc, the_dead_take_no_slot);
	tcase_add_test(tc, only_the_first_sweep_adopts);
	tcase_add_test(tc, no_adopted_container_stays_for_ever);
	tcase_add_test(tc, an_adopted_container_that_vanished_is_free);
	tcase_add_test(tc, what_is_in_the_making_is_not_swept);
	tcase_add_test(tc, one_process_has_few_connections);
	tcase_add_test(tc, one_process_has_one_job);
	tcase_add_test(tc, first_come_first_served);
	tcase_add_test(tc, a_stopping_keeper_takes_no_job);
	tcase_add_test(tc, the_reason_is_the_right_one);
	tcase_add_test(tc, a_mad_filler_is_killed);
	tcase_add_test(tc, a_filler_that_does_not_end_is_killed);
	suite_add_tcase(s, tc);
	return s;
}
