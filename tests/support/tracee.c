/*
 * System call injection by ptrace: the tracee is stopped in its wait, made to do one call at the
 * `syscall` instruction it came from, and given its registers back. What it answers comes from the
 * kernel, through that process's own filter and credentials.
 */
#include "support/tracee.h"

#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#if defined(__x86_64__)

#define BELOW_STACK 1024 /* beyond the red zone of 128 bytes */
#define SYSCALL_INSN 0x050f

bool tracee_able(void)
{
	return true;
}

static struct user_regs_struct regs_of(pid_t pid)
{
	struct user_regs_struct r = { 0 };
	ck_assert_msg(ptrace(PTRACE_GETREGS, pid, NULL, &r) == 0, "GETREGS: %s", strerror(errno));
	return r;
}

void tracee_attach(struct tracee *t, pid_t pid)
{
	int status;
	t->pid = pid;
	ck_assert_msg(ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0, "SEIZE %d: %s", (int)pid,
		      strerror(errno));
	ck_assert_msg(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0, "INTERRUPT: %s",
		      strerror(errno));
	ck_assert_msg(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status), "no stop of %d",
		      (int)pid);
	struct user_regs_struct r = regs_of(pid);
	t->place = (long)((r.rsp - BELOW_STACK) & ~15UL);
	errno = 0;
	long insn = ptrace(PTRACE_PEEKTEXT, pid, (void *)(r.rip - 2), NULL);
	ck_assert_msg(errno == 0 && (insn & 0xffff) == SYSCALL_INSN,
		      "not stopped at a system call");
}

long tracee_put(struct tracee *t, const void *data, size_t len)
{
	struct iovec local = { (void *)(uintptr_t)data, len }, remote = { (void *)t->place, len };
	ck_assert_msg(process_vm_writev(t->pid, &local, 1, &remote, 1, 0) == (ssize_t)len,
		      "can't write to the tracee: %s", strerror(errno));
	return t->place;
}

/* One step to the next stop; false when the process ended. */
static bool step(pid_t pid)
{
	int status;
	ck_assert_msg(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0, "step: %s", strerror(errno));
	ck_assert(waitpid(pid, &status, __WALL) == pid);
	return WIFSTOPPED(status);
}

long tracee_call(struct tracee *t, long nr, long a, long b, long c)
{
	struct user_regs_struct saved = regs_of(t->pid), r = saved;
	r.rip -= 2;
	r.rax = (unsigned long)nr;
	r.orig_rax = (unsigned long)-1; /* else the kernel would restart the interrupted call over
					   ours */
	r.rdi = (unsigned long)a;
	r.rsi = (unsigned long)b;
	r.rdx = (unsigned long)c;
	r.r10 = r.r8 = r.r9 = 0;
	ck_assert(ptrace(PTRACE_SETREGS, t->pid, NULL, &r) == 0);
	if (!step(t->pid))
		return -ESHUTDOWN;
	long result = (long)regs_of(t->pid).rax;
	ck_assert(ptrace(PTRACE_SETREGS, t->pid, NULL, &saved) == 0);
	return result;
}

void tracee_detach(struct tracee *t)
{
	(void)ptrace(PTRACE_DETACH, t->pid, NULL, NULL);
}

#else

bool tracee_able(void)
{
	return false;
}

void tracee_attach(struct tracee *t, pid_t pid)
{
	t->pid = pid;
	ck_abort_msg("no injection on this processor");
}

long tracee_put(struct tracee *t, const void *data UNUSED, size_t len UNUSED)
{
	return t->place;
}

long tracee_call(struct tracee *t UNUSED, long nr UNUSED, long a UNUSED, long b UNUSED,
		 long c UNUSED)
{
	return -ENOSYS;
}

void tracee_detach(struct tracee *t UNUSED)
{
}

#endif
