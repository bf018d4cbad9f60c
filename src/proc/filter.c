/*
 * The seccomp filter. guard.c installs it as the last step before a role runs. It is a list of what
 * is allowed: what a C program that reads, writes, waits and opens files needs, checked by running
 * the whole test suite under it. A feature that needs another call gets EPERM there and adds a name
 * here, with the reason. Kernel: prctl no_new_privs must be set before. Never kills: EPERM shows in
 * an error message what is missing.
 */
#include "proc/filter.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__

int filter_install(int listen_fd, struct err *err)
{
	(void)listen_fd;
	(void)err;
	return 0;
}

#else

/* Allowed with any arguments. Names, so that one list serves every architecture: one that lacks a
 * call skips it. */
/* clang-format off */
static const char *const plain_calls[] = {
	/* bytes of descriptors that are open already */
	"read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "lseek", "close",
	"sendfile", "copy_file_range", "fsync", "fdatasync", "ftruncate", "fallocate", "fadvise64", "flock",
	"getdents64", "close_range", "pipe", "pipe2", "memfd_create",
	/* files: the kernel's own permissions of SERVICE_USER decide */
	"open", "openat", "openat2", "stat", "lstat", "fstat", "newfstatat", "fstatat64", "statx",
	"fstatfs", "statfs", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "unlink",
	"unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "linkat", "fchmod",
	"fchmodat", "utimensat", "umask", "getcwd",
	/* waiting */
	"poll", "ppoll", "select", "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
	"nanosleep", "clock_nanosleep", "futex", "restart_syscall", "eventfd2", "timerfd_create",
	"timerfd_settime", "signalfd4",
	/* sockets: those of socket() below, and accepted ones. No sendmsg, which passes descriptors on:
	 * none leaves the process, and no copy of the listener comes back under another number */
	"accept", "accept4", "connect", "sendto", "recvfrom", "recvmsg", "getsockname",
	"getpeername", "getsockopt", "shutdown", "dup",
	/* memory; without PROT_EXEC it comes below */
	"munmap", "mremap", "madvise", "brk", "mlock", "munlock",
	/* itself */
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "sigreturn", "sigaltstack",
	"clock_gettime", "clock_getres", "gettimeofday", "time", "getrandom", "getpid", "gettid", "getppid",
	"getuid", "geteuid", "getgid", "getegid", "getgroups", "getrusage", "times", "sysinfo", "uname",
	"sched_yield", "sched_getaffinity", "getcpu", "rseq", "set_robust_list", "set_tid_address",
	"membarrier", "getrlimit", "ugetrlimit", "exit", "exit_group",
};
/* clang-format on */

static int allow(scmp_filter_ctx ctx, const char *name, unsigned count,
		 const struct scmp_arg_cmp *args)
{
	int nr = seccomp_syscall_resolve_name(name);
	if (nr == __NR_SCMP_ERROR)
		return 0; /* a libseccomp older than the call: it stays denied */
	int r = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, nr, count, args);
	return r == -EDOM ? 0 : r;
}

static int allow_plain(scmp_filter_ctx ctx)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(plain_calls); i++)
		r = allow(ctx, plain_calls[i], 0, NULL);
	return r;
}

/* `name` with argument `arg` equal to `value`. */
static int allow_equal(scmp_filter_ctx ctx, const char *name, unsigned arg, uint64_t value)
{
	const struct scmp_arg_cmp cmp = SCMP_CMP(arg, SCMP_CMP_EQ, value);
	return allow(ctx, name, 1, &cmp);
}

/* F_SETOWN and F_SETSIG are left out: they send signals to others. */
static int allow_fcntl(scmp_filter_ctx ctx)
{
	static const int commands[] = { F_GETFD,	 F_SETFD,      F_GETFL,	    F_SETFL,
					F_DUPFD_CLOEXEC, F_SETLK,      F_SETLKW,    F_GETLK,
					F_OFD_SETLK,	 F_OFD_SETLKW, F_OFD_GETLK, F_ADD_SEALS,
					F_GET_SEALS };
	static const char *const names[] = { "fcntl", "fcntl64" };
	int r = 0;
	for (size_t n = 0; n < ARRAY_SIZE(names); n++)
		for (size_t i = 0; r == 0 && i < ARRAY_SIZE(commands); i++)
			r = allow_equal(ctx, names[n], 1, (uint64_t)commands[i]);
	return r;
}

/* New memory, never executable. */
static int allow_memory(scmp_filter_ctx ctx)
{
	static const char *const calls[] = { "mmap", "mmap2", "mprotect" };
	const struct scmp_arg_cmp cmp = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(calls); i++)
		r = allow(ctx, calls[i], 1, &cmp);
	return r;
}

/* Timeouts, nothing else: other options reach far into the kernel (packet filters, for one). */
static int allow_options(scmp_filter_ctx ctx)
{
	static const int options[] = { SO_RCVTIMEO, SO_SNDTIMEO };
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(options); i++) {
		const struct scmp_arg_cmp cmp[] = {
			SCMP_A1(SCMP_CMP_EQ, SOL_SOCKET),
			SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)options[i]),
		};
		r = allow(ctx, "setsockopt", ARRAY_SIZE(cmp), cmp);
	}
	return r;
}

static int allow_rest(scmp_filter_ctx ctx)
{
	static const unsigned long requests[] = { FIONREAD, FIONBIO, TCGETS };
	int r = allow_equal(ctx, "socket", 0, AF_UNIX);
	if (r == 0)
		r = allow_options(ctx);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(requests); i++)
		r = allow_equal(ctx, "ioctl", 1, requests[i]);
	/* abort() signals its own process. */
	if (r == 0)
		r = allow_equal(ctx, "tgkill", 0, (uint64_t)getpid());
	/* Limits may be read, not set: the third argument is the new value. */
	if (r == 0)
		r = allow_equal(ctx, "prlimit64", 2, 0);
	return r;
}

static int fill_allowed(scmp_filter_ctx ctx)
{
	int r = allow_plain(ctx);
	if (r == 0)
		r = allow_fcntl(ctx);
	if (r == 0)
		r = allow_memory(ctx);
	return r == 0 ? allow_rest(ctx) : r;
}

/*
 * A filter of its own, as the kernel takes the stricter of two: what would spoil the shared
 * listener (shut it down, make it block) is denied on it and on copies of it, which cannot be made.
 * The kernel reads 32 bits of a descriptor, so only these are compared.
 */
static int fill_listener(scmp_filter_ctx ctx, int listen_fd)
{
	static const char *const calls[] = { "shutdown", "setsockopt", "dup" };
	static const int commands[] = { F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC };
	const uint64_t low = UINT32_MAX;
	const struct scmp_arg_cmp fd = SCMP_A0(SCMP_CMP_MASKED_EQ, low, (scmp_datum_t)listen_fd);
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(calls); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
				     seccomp_syscall_resolve_name(calls[i]), 1, fd);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(commands); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
				     seccomp_syscall_resolve_name("fcntl"), 2, fd,
				     SCMP_A1(SCMP_CMP_MASKED_EQ, low, (scmp_datum_t)commands[i]));
	return r;
}

/* Makes, fills and loads one filter; listen_fd -1: the list of allowed calls. */
static int load(int listen_fd)
{
	scmp_filter_ctx ctx = seccomp_init(listen_fd < 0 ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW);
	if (!ctx)
		return -ENOMEM;
	/* 2: the rules become a tree, so a call costs few comparisons. Older libraries only have
	 * the list. */
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	int r = listen_fd < 0 ? fill_allowed(ctx) : fill_listener(ctx, listen_fd);
	if (r == 0)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r;
}

int filter_install(int listen_fd, struct err *err)
{
	int r = listen_fd < 0 ? 0 : load(listen_fd);
	if (r == 0)
		r = load(-1); /* last: it denies the loading of filters */
	if (r < 0)
		return err_sys(err, ERR_INTERNAL, -r, "the seccomp filter cannot be installed");
	return 0;
}

#endif
