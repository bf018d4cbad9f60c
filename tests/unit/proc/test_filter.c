/*
 * The seccomp filter, from inside: a child installs it and tries a call. Every row is a way out of
 * a worker that somebody has used before, or a call a worker lives on.
 */
#include "base/err.h"
#include "proc/filter.h"
#include "unit/suites.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __SANITIZE_ADDRESS__ /* that build has no filter */

static int listener = -1;

struct call {
	const char *what;
	long nr, a, b, c, d;
};

/* What the child saw: errno of the call, 0 when it succeeded; 200: no filter. */
static int errno_inside(const struct call *call)
{
	struct err err = ERR_INIT;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (filter_install(listener, &err) < 0)
		return 200;
	long r = syscall(call->nr, call->a, call->b, call->c, call->d, 0, 0);
	return r < 0 ? errno : 0;
}

static int status_of(const struct call *call)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(errno_inside(call));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static const struct call denied[] = {
	{ "execve", SYS_execve, 0, 0, 0, 0 },
	{ "execveat", SYS_execveat, 0, 0, 0, 0 },
	{ "fork", SYS_clone, SIGCHLD, 0, 0, 0 },
	{ "clone3", SYS_clone3, 0, 0, 0, 0 },
	{ "socket of AF_INET", SYS_socket, AF_INET, SOCK_STREAM, 0, 0 },
	/* The kernel sees 32 bits of the family, a filter 64. */
	{ "socket of AF_INET with high bits", SYS_socket, (1L << 32) | AF_INET, SOCK_STREAM, 0, 0 },
	{ "socket of AF_UNIX with high bits", SYS_socket, (1L << 32) | AF_UNIX, SOCK_STREAM, 0, 0 },
	{ "socketpair", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, 0 },
	{ "bind", SYS_bind, 0, 0, 0, 0 },
	{ "sendmsg", SYS_sendmsg, 0, 0, 0, 0 },
	{ "sendmmsg", SYS_sendmmsg, 0, 0, 0, 0 },
	{ "a packet filter", SYS_setsockopt, 0, SOL_SOCKET, SO_ATTACH_FILTER, 0 },
	{ "an option of another level", SYS_setsockopt, 0, 6, SO_RCVTIMEO, 0 },
	{ "prctl", SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0 },
	{ "personality", SYS_personality, 0x0400000, 0, 0, 0 },
	{ "seccomp", SYS_seccomp, 0, 0, 0, 0 },
	{ "F_SETOWN", SYS_fcntl, 0, F_SETOWN, 1, 0 },
	{ "F_SETSIG", SYS_fcntl, 0, F_SETSIG, SIGKILL, 0 },
	{ "F_SETLEASE", SYS_fcntl, 0, F_SETLEASE, F_RDLCK, 0 },
	{ "F_NOTIFY", SYS_fcntl, 0, F_NOTIFY, DN_MODIFY, 0 },
	{ "F_SETPIPE_SZ", SYS_fcntl, 0, F_SETPIPE_SZ, 1 << 20, 0 },
	{ "F_SETOWN with high bits", SYS_fcntl, 0, (1L << 32) | F_SETOWN, 1, 0 },
	{ "FIOASYNC", SYS_ioctl, 0, 0x5452, 0, 0 },
	{ "TIOCSTI", SYS_ioctl, 0, 0x5412, 0, 0 },
	{ "kill", SYS_kill, 1, 0, 0, 0 },
	{ "tgkill of another", SYS_tgkill, 1, 1, 0, 0 },
	{ "tkill", SYS_tkill, 1, 0, 0, 0 },
	{ "rt_sigqueueinfo", SYS_rt_sigqueueinfo, 1, 0, 0, 0 },
	{ "pidfd_open", SYS_pidfd_open, 1, 0, 0, 0 },
	{ "pidfd_getfd", SYS_pidfd_getfd, 0, 0, 0, 0 },
	{ "ptrace", SYS_ptrace, 0, 0, 0, 0 },
	{ "process_vm_readv", SYS_process_vm_readv, 1, 0, 0, 0 },
	{ "process_vm_writev", SYS_process_vm_writev, 1, 0, 0, 0 },
	{ "setrlimit", SYS_setrlimit, 7, 0, 0, 0 },
	{ "prlimit that sets", SYS_prlimit64, 0, 7, 1, 0 },
	{ "executable memory", SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC,
	  MAP_PRIVATE | MAP_ANONYMOUS },
	{ "memory made executable", SYS_mprotect, 0, 4096, PROT_EXEC, 0 },
	{ "pkey_mprotect", SYS_pkey_mprotect, 0, 4096, PROT_EXEC, -1 },
	{ "shmat", SYS_shmat, 0, 0, 0, 0 },
	{ "userfaultfd", SYS_userfaultfd, 0, 0, 0, 0 },
	{ "io_uring_setup", SYS_io_uring_setup, 1, 0, 0, 0 },
	{ "bpf", SYS_bpf, 0, 0, 0, 0 },
	{ "perf_event_open", SYS_perf_event_open, 0, 0, 0, 0 },
	{ "keyctl", SYS_keyctl, 0, 0, 0, 0 },
	{ "unshare", SYS_unshare, 0, 0, 0, 0 },
	{ "chmod", SYS_chmod, 0, 0, 0, 0 },
	{ "chown", SYS_fchownat, AT_FDCWD, 0, 0, 0 },
	{ "symlink", SYS_symlinkat, 0, AT_FDCWD, 0, 0 },
	{ "mknod", SYS_mknodat, AT_FDCWD, 0, S_IFIFO, 0 },
	{ "inotify", SYS_inotify_init1, 0, 0, 0, 0 },
};

START_TEST(ways_out_are_shut)
{
	int status = status_of(&denied[_i]);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == EPERM, "%s: status %x",
		      denied[_i].what, (unsigned)status);
}
END_TEST

START_TEST(the_shared_listener_stays_whole)
{
	int pair[2];
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	listener = pair[0];
	const struct call calls[] = {
		{ "shutdown", SYS_shutdown, listener, SHUT_RDWR, 0, 0 },
		{ "shutdown with high bits", SYS_shutdown, (1L << 32) | listener, SHUT_RDWR, 0, 0 },
		{ "made blocking", SYS_fcntl, listener, F_SETFL, 0, 0 },
		{ "a copy", SYS_dup, listener, 0, 0, 0 },
		{ "a copy by fcntl", SYS_fcntl, listener, F_DUPFD_CLOEXEC, 0, 0 },
		{ "a timeout", SYS_setsockopt, listener, SOL_SOCKET, SO_RCVTIMEO, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		int status = status_of(&calls[i]);
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == EPERM, "%s: status %x",
			      calls[i].what, (unsigned)status);
	}
	const struct call own = { "shutdown of another", SYS_shutdown, pair[1], SHUT_RDWR, 0, 0 };
	ck_assert_int_eq(status_of(&own), 0);
	close(pair[0]);
	close(pair[1]);
}
END_TEST

START_TEST(what_a_worker_lives_on)
{
	static const struct call calls[] = {
		{ "socket", SYS_socket, AF_UNIX, SOCK_SEQPACKET, 0, 0 },
		{ "memory", SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS },
		{ "F_GETFL", SYS_fcntl, 0, F_GETFL, 0, 0 },
		{ "limits read", SYS_prlimit64, 0, 7, 0, 0 },
		{ "getpid", SYS_getpid, 0, 0, 0, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		ck_assert_msg(status_of(&calls[i]) == 0, "%s: status %x", calls[i].what,
			      (unsigned)status_of(&calls[i]));
}
END_TEST

#ifdef __x86_64__
#define X32 0x40000000 /* __X32_SYSCALL_BIT: the same kernel, other numbers */

START_TEST(calls_of_another_abi)
{
	const struct call x32 = { "x32 getpid", X32 | SYS_getpid, 0, 0, 0, 0 };
	int status = status_of(&x32);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "x32: status %x",
		      (unsigned)status);
}
END_TEST

static int call_32_bit(void)
{
	struct err err = ERR_INIT;
	int r;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (filter_install(-1, &err) < 0)
		return 200;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory"); /* getpid of i386 */
	return r > 0 ? 100 : 0;
}

/* A kernel without 32-bit calls ends the process its own way (SIGSEGV). */
START_TEST(calls_of_32_bits)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(call_32_bit());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSIGNALED(status), "status %x", (unsigned)status);
}
END_TEST
#endif
#endif

Suite *suite_proc_filter(void)
{
	Suite *s = suite_create("proc_filter");
	TCase *tc = tcase_create("proc_filter");
#ifndef __SANITIZE_ADDRESS__
	tcase_add_loop_test(tc, ways_out_are_shut, 0, (int)ARRAY_SIZE(denied));
	tcase_add_test(tc, the_shared_listener_stays_whole);
	tcase_add_test(tc, what_a_worker_lives_on);
#ifdef __x86_64__
	tcase_add_test(tc, calls_of_another_abi);
	tcase_add_test(tc, calls_of_32_bits);
#endif
#endif
	suite_add_tcase(s, tc);
	return s;
}
