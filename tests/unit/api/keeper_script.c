/* What keeper_script.h says. */
#include "unit/api/keeper_script.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "conf.h"
#include "support/tool.h"
#include "unit/box/guest_script.h"

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct conf settings;
static char dir[64], path[128], files[128];
static pid_t child;
static struct lease_limits *seen; /* shared with the child */

void keeper_conf(void)
{
	struct err err = ERR_INIT;

	snprintf(dir, sizeof(dir), "/tmp/belljar-api-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/keeper.sock", dir);
	snprintf(files, sizeof(files), "%s/files", dir);
	ck_assert_int_eq(mkdir(files, 0700), 0);
	setenv("RUN_DIR", dir, 1);
	setenv("FILE_STORAGE_DIR", files, 1);
	ck_assert_msg(conf_load(&settings, NULL, &err) == 0, "%s", err.text);
	conf_use(&settings);
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void keeper_conf_clear(void)
{
	munmap(seen, sizeof(*seen));
	tool_rmtree(dir);
	conf_clear(&settings);
}

static void grant(int conn, void (*guest)(int fd))
{
	struct lease_grant g = {
		.magic = LEASE_MAGIC, .queue_ms = 1, .start_ms = 2, .engine = "Docker"
	};
	struct err err = ERR_INIT;
	int worker = -1, mine = -1;

	if (guest) {
		memset(g.id, 'c', 64);
		guest_pair(&worker, &mine);
	} else {
		g.code = ERR_BUSY;
		snprintf(g.text, sizeof(g.text), "all slots are taken");
	}
	io_send_fd(conn, &g, sizeof(g), worker, &err);
	close(worker);
	if (guest)
		guest(mine);
	close(mine);
}

static void serve(int listener, const struct lease_status *status, void (*guest)(int fd))
{
	struct lease_ask ask;
	struct err err = ERR_INIT;
	int none, conn;

	io_wait(listener, POLLIN, -1);
	conn = accept(listener, NULL, NULL);
	if (conn < 0 || io_recv_fd(conn, &ask, sizeof(ask), &none, clock_ms() + 5000, &err) ||
	    !lease_ask_ok(&ask))
		_exit(3);
	if (ask.kind == LEASE_STATUS) {
		io_send_fd(conn, status, sizeof(*status), -1, &err);
	} else {
		*seen = ask.limits;
		grant(conn, guest);
	}
	close(conn);
}

void keeper_start(const struct lease_status *status, void (*guest)(int fd))
{
	struct err err = ERR_INIT;
	int listener = io_unix_listen(path, SOCK_SEQPACKET, 8, 0600, &err);

	ck_assert_int_ge(listener, 0);
	child = fork();
	if (child == 0)
		for (;;)
			serve(listener, status, guest);
	close(listener);
}

void keeper_stop(void)
{
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	child = 0;
	unlink(path);
}

struct lease_limits keeper_limits(void)
{
	return *seen;
}
