/*
 * A worker's powers, tried from inside: a live worker is made to do system calls by ptrace, and the
 * kernel's answers go through that process's own filter and credentials. It must serve requests
 * afterwards, being the same process.
 */
#include "base/alloc.h"
#include "suites.h"
#include "support/answer.h"
#include "support/dock.h"
#include "support/ps.h"
#include "support/service.h"
#include "support/tool.h"
#include "support/tracee.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static struct service svc;

static void setup(void)
{
	service_up(&svc, (const char *const[]){ "WORKERS=1", NULL });
}

static void teardown(void)
{
	service_clear(&svc);
}

static void want_status(pid_t pid, const char *field, const char *want)
{
	AUTO_FREE char *got = ps_status(pid, field);
	ck_assert_msg(strcmp(got, want) == 0, "%s of %d is \"%s\", wanted \"%s\"", field, (int)pid,
		      got, want);
}

/* uid and gid of SERVICE_USER, no groups, no capability anywhere. */
static void want_powerless(pid_t pid)
{
	static const char *const caps[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
	AUTO_FREE char *uid = ps_status(pid, "Uid");
	ck_assert_msg(strtol(uid, NULL, 10) > 0, "runs as uid %s", uid);
	want_status(pid, "Groups", "");
	want_status(pid, "NoNewPrivs", "1");
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		want_status(pid, caps[i], "0000000000000000");
#ifndef __SANITIZE_ADDRESS__
	want_status(pid, "Seccomp", "2");
#endif
}

START_TEST(unprivileged_roles)
{
	static const char *const roles[] = { "worker", "janitor" };
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
		pid_t pid = service_one(&svc, roles[i]);
		ck_assert_msg(pid > 0, "no %s", roles[i]);
		want_powerless(pid);
	}
}
END_TEST

#ifndef __SANITIZE_ADDRESS__

/* The sanitizer's runtime needs what the filter denies, so that build has none. */
struct call_row {
	const char *what;
	long nr, a, b, c;
};

static const struct call_row denied[] = {
	{ "socket(AF_INET)", SYS_socket, AF_INET, SOCK_STREAM, 0 },
	{ "socket(AF_INET, UDP)", SYS_socket, AF_INET, SOCK_DGRAM, 0 },
	{ "socket(AF_INET6)", SYS_socket, AF_INET6, SOCK_STREAM, 0 },
	{ "socket(AF_NETLINK)", SYS_socket, AF_NETLINK, SOCK_RAW, 0 },
	{ "socket(AF_PACKET)", SYS_socket, AF_PACKET, SOCK_RAW, 0 },
	{ "socket(AF_ALG)", SYS_socket, 38, SOCK_SEQPACKET, 0 },
	{ "socket(AF_VSOCK)", SYS_socket, 40, SOCK_STREAM, 0 },
	{ "fork", SYS_clone, 17, 0, 0 },
	{ "clone3", SYS_clone3, 0, 0, 0 },
	{ "ptrace", SYS_ptrace, 16, 1, 0 },
	{ "kill", SYS_kill, 1, 0, 0 },
	{ "setuid", SYS_setuid, 0, 0, 0 },
	{ "mount", SYS_mount, 0, 0, 0 },
	{ "unshare", SYS_unshare, 0x10000000, 0, 0 },
	{ "bpf", SYS_bpf, 0, 0, 0 },
	{ "io_uring_setup", SYS_io_uring_setup, 1, 0, 0 },
	{ "userfaultfd", SYS_userfaultfd, 0, 0, 0 },
	{ "perf_event_open", SYS_perf_event_open, 0, 0, 0 },
	{ "keyctl", SYS_keyctl, 0, 0, 0 },
	{ "listen", SYS_listen, 0, 1, 0 },
	{ "mmap executable", SYS_mmap, 0, 4096, PROT_EXEC | PROT_READ },
};

static void want_denied(const char *what, long result)
{
	ck_assert_msg(result == -EPERM || result == -ESHUTDOWN, "%s gives %ld (%s)", what, result,
		      result < 0 ? strerror((int)-result) : "success");
}

START_TEST(calls_a_worker_can_not_do)
{
	AUTO(answer) a = ANSWER_INIT;
	struct tracee t;
	if (!tracee_able())
		return;
	pid_t worker = service_one(&svc, "worker");
	tracee_attach(&t, worker);
	for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
		want_denied(denied[i].what,
			    tracee_call(&t, denied[i].nr, denied[i].a, denied[i].b, denied[i].c));
	long path = tracee_put(&t, "/bin/true", sizeof("/bin/true"));
	want_denied("execve", tracee_call(&t, SYS_execve, path, 0, 0));
	want_denied("execveat", tracee_call(&t, SYS_execveat, AT_FDCWD, path, 0));
	tracee_detach(&t);
	service_call(&svc, "GET", "/health", NULL, &a);
	WANT_STATUS(&a, 200);
	ck_assert_int_eq(service_one(&svc, "worker"), worker);
}
END_TEST

/* The filter lets a worker open Unix sockets, which it needs for the keeper; the engine's refuses
 * its user. */
START_TEST(the_docker_socket_is_out_of_reach)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct stat st;
	struct tracee t;
	const char *path = dock_socket();
	if (!tracee_able() || !path || stat(path, &st) != 0)
		return;
	ck_assert_msg(!(st.st_mode & 0006), "the engine's socket lets everybody in: mode %o",
		      (unsigned)st.st_mode);
	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	tracee_attach(&t, service_one(&svc, "worker"));
	long fd = tracee_call(&t, SYS_socket, AF_UNIX, SOCK_STREAM, 0);
	ck_assert_msg(fd >= 0, "a worker must be able to make a Unix socket: %ld", fd);
	long result = tracee_call(&t, SYS_connect, fd, tracee_put(&t, &un, sizeof(un)), sizeof(un));
	ck_assert_msg(result == -EACCES, "connect to %s gives %ld", path, result);
	long opened = tracee_call(&t, SYS_open, tracee_put(&t, path, strlen(path) + 1), O_RDWR, 0);
	ck_assert_msg(opened < 0, "open of %s gives %ld", path, opened);
	tracee_call(&t, SYS_close, fd, 0, 0);
	tracee_detach(&t);
}
END_TEST

/* The attack is real: the same injection in an ordinary process of root succeeds. */
START_TEST(the_injection_itself_works)
{
	struct tracee t;
	if (!tracee_able())
		return;
	static const char *const argv[] = { "sleep", "60", NULL };
	pid_t pid = tool_spawn(&(struct tool_child){ .argv = argv });
	while (!ps_named(pid, "sleep"))
		tool_sleep_ms(5);
	tool_sleep_ms(200); /* until it is in its sleep: attach asserts that it is */
	tracee_attach(&t, pid);
	ck_assert_int_ge(tracee_call(&t, SYS_socket, AF_INET, SOCK_STREAM, 0), 0);
	ck_assert_int_eq(tracee_call(&t, SYS_getpid, 0, 0, 0), pid);
	tracee_detach(&t);
	tool_stop(pid, TOOL_WAIT_MS);
}
END_TEST

#endif

START_TEST(no_descriptor_leads_to_docker)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "print(1)", NULL, &a);
	pid_t worker = service_one(&svc, "worker");
	for (int fd = 0; fd < 256; fd++) {
		char path[64], target[256];
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)worker, fd);
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		ck_assert_msg(!strstr(target, "docker") && !strstr(target, "master.pid"),
			      "fd %d of the worker is %s", fd, target);
	}
}
END_TEST

Suite *suite_guard(void)
{
	Suite *s = suite_create("guard");
	TCase *tc = tcase_create("guard");
	tcase_set_timeout(tc, 240);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_test(tc, unprivileged_roles);
#ifndef __SANITIZE_ADDRESS__
	tcase_add_test(tc, calls_a_worker_can_not_do);
	tcase_add_test(tc, the_docker_socket_is_out_of_reach);
	tcase_add_test(tc, the_injection_itself_works);
#endif
	tcase_add_test(tc, no_descriptor_leads_to_docker);
	suite_add_tcase(s, tc);
	return s;
}
