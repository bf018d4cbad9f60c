/*
 * The program has the guest's user id, so the kernel would let it change PID 1's limits, CPU mask,
 * scheduling and priority. This filter, put on in the child before it becomes the interpreter,
 * denies those calls for PID 1 only; everything else stays as Docker's own filter has it. The
 * constants stand here because musl ships no linux headers.
 */
#include "guest/shield.h"

#include "base/base.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/filter.h, linux/bpf_common.h */
#define BPF_LOAD 0x20	  /* BPF_LD | BPF_W | BPF_ABS */
#define BPF_IF_EQUAL 0x15 /* BPF_JMP | BPF_JEQ | BPF_K */
#define BPF_IF_GREATER_EQUAL 0x35
#define BPF_RETURN 0x06
/* linux/seccomp.h */
#define MODE_FILTER 2
#define RETURN_ALLOW 0x7fff0000u
#define RETURN_ERRNO 0x00050000u
#define DATA_NR 0
#define DATA_ARCH 4
#define DATA_ARG(n) (16 + 8 * (n)) /* its low half: both machines are little-endian */

#if defined(__x86_64__)
#define NATIVE_ARCH 0xc000003eu
#elif defined(__aarch64__)
#define NATIVE_ARCH 0xc00000b7u
#else
#error "shield: no system call filter for this machine"
#endif
#define FOREIGN_ABI 0x40000000u /* x32 numbers begin here */

#define CODE_MAX 128 /* instructions; five for each rule */

struct insn {
	uint16_t code;
	uint8_t if_true, if_false;
	uint32_t k;
};
struct program {
	uint16_t len;
	struct insn *insns;
};
struct filter {
	uint16_t len;
	struct insn insns[CODE_MAX];
};

/* A call is denied if this argument has this value. */
struct rule {
	int call;
	uint8_t arg;
	uint32_t value;
};

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static const struct rule rules[] = {
	{ SYS_prlimit64, 0, 1 },
	{ SYS_sched_setaffinity, 0, 1 },
	{ SYS_sched_setscheduler, 0, 1 },
	{ SYS_sched_setparam, 0, 1 },
	{ SYS_sched_setattr, 0, 1 },
	{ SYS_ptrace, 1, 1 },
	{ SYS_process_vm_readv, 0, 1 },
	{ SYS_process_vm_writev, 0, 1 },
	{ SYS_kcmp, 0, 1 },
	{ SYS_kcmp, 1, 1 },
	{ SYS_migrate_pages, 0, 1 },
	{ SYS_move_pages, 0, 1 },
	{ SYS_pidfd_open, 0, 1 },
	/* by process or group number; and by user, which is PID 1's too */
	{ SYS_setpriority, 1, 1 },
	{ SYS_setpriority, 0, 2 /* PRIO_USER */ },
	{ SYS_ioprio_set, 1, 1 },
	{ SYS_ioprio_set, 0, 3 /* IOPRIO_WHO_USER */ },
};

static void emit(struct filter *f, uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false)
{
	if (f->len < CODE_MAX)
		f->insns[f->len++] = (struct insn){
			.code = code, .if_true = if_true, .if_false = if_false, .k = k
		};
}

static void emit_return(struct filter *f, uint32_t what)
{
	emit(f, BPF_RETURN, what, 0, 0);
}

/* Every rule begins with the call's number loaded again, so that rules don't depend on each other.
 */
static void emit_rule(struct filter *f, const struct rule *r)
{
	emit(f, BPF_LOAD, DATA_NR, 0, 0);
	emit(f, BPF_IF_EQUAL, (uint32_t)r->call, 0, 3);
	emit(f, BPF_LOAD, DATA_ARG(r->arg), 0, 0);
	emit(f, BPF_IF_EQUAL, r->value, 0, 1);
	emit_return(f, RETURN_ERRNO | EPERM);
}

/* Other ABIs number their calls differently and would pass by the rules: 32-bit programs don't run
 * here. */
static void emit_abi_check(struct filter *f)
{
	emit(f, BPF_LOAD, DATA_ARCH, 0, 0);
	emit(f, BPF_IF_EQUAL, NATIVE_ARCH, 1, 0);
	emit_return(f, RETURN_ERRNO | ENOSYS);
	emit(f, BPF_LOAD, DATA_NR, 0, 0);
	emit(f, BPF_IF_GREATER_EQUAL, FOREIGN_ABI, 0, 1);
	emit_return(f, RETURN_ERRNO | ENOSYS);
}

int shield_install(void)
{
	struct filter f = { 0 };
	struct program p = { .insns = f.insns };

	emit_abi_check(&f);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		emit_rule(&f, &rules[i]);
	emit_return(&f, RETURN_ALLOW);
	if (f.len >= CODE_MAX) {
		errno = E2BIG;
		return -1;
	}
	p.len = f.len;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, MODE_FILTER, &p, 0, 0);
}
