/*
 * Giving up powers. The master calls guard_enter in each child before the role runs a line; main
 * calls guard_cgi. Order matters: the bounding set needs CAP_SETPCAP, groups need CAP_SETGID, then
 * the uid goes and takes the rest along; the parent-death signal is cleared by a change of uid, so
 * it is set last. Never gives a power back.
 */
#include "proc/guard.h"

#include "base/err.h"
#include "proc/filter.h"
#include "proc/role.h"
#include "proc/setup.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fail(struct err *err, const char *what)
{
	return err_sys(err, ERR_INTERNAL, errno, "cannot give up privileges: %s", what);
}

/* No execve can ever gain a capability again, whatever file it runs. */
static int drop_bounding(struct err *err)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return fail(err, "bounding set");
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return 0;
}

/* Keeps those of `keep` that the process has. */
static int keep_capabilities(uint64_t keep, struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	if (syscall(SYS_capget, &head, data) < 0)
		return fail(err, "capget");
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, data) < 0)
		return fail(err, "capset");
	return 0;
}

static int change_user(const struct setup *s, struct err *err)
{
	if (setgroups(0, NULL) < 0)
		return fail(err, "setgroups");
	if (setresgid(s->gid, s->gid, s->gid) < 0)
		return fail(err, "setresgid");
	if (setresuid(s->uid, s->uid, s->uid) < 0)
		return fail(err, "setresuid");
	if (setuid(0) == 0 || setgid(0) == 0) {
		errno = 0;
		return fail(err, "the way back to root is still open");
	}
	return 0;
}

static int limit(int what, rlim_t value, struct err *err)
{
	const struct rlimit l = { value, value };
	return setrlimit((__rlimit_resource_t)what, &l) < 0 ? fail(err, "setrlimit") : 0;
}

/* A core of a worker would hold clients' code; a debugger of the same uid could read it. */
static int close_to_others(bool unprivileged, struct err *err)
{
	if (limit(RLIMIT_CORE, 0, err) < 0)
		return -1;
#ifdef __SANITIZE_ADDRESS__
	/* The leak check at exit starts a helper that attaches to this process. */
	(void)unprivileged;
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? fail(err, "dumpable") : 0;
#else
	if (unprivileged && limit(RLIMIT_NPROC, 0, err) < 0)
		return -1;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? fail(err, "dumpable") : 0;
#endif
}

static int no_new_privs(struct err *err)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? fail(err, "no_new_privs") : 0;
}

/* The master may have died between fork and prctl: then nobody would send the signal. */
static int die_with_master(const struct setup *s, struct err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0)
		return fail(err, "parent-death signal");
	if (getppid() != s->master)
		return err_set(err, ERR_INTERNAL, "the master is gone");
	return 0;
}

int guard_enter(const struct role *role, const struct setup *s, struct err *err)
{
	if (drop_bounding(err) < 0)
		return -1;
	if (role->unprivileged && change_user(s, err) < 0)
		return -1;
	/* The engine's socket may be another user's (a rootless engine), so the keeper keeps the
	 * right to open it. */
	if (keep_capabilities(role->unprivileged ? 0 : UINT64_C(1) << CAP_DAC_OVERRIDE, err) < 0)
		return -1;
	if (close_to_others(role->unprivileged, err) < 0 || no_new_privs(err) < 0)
		return -1;
	if (die_with_master(s, err) < 0)
		return -1;
	return role->filtered ? filter_install(role->has_fcgi ? s->fcgi_fd : -1, err) : 0;
}

int guard_cgi(const struct setup *s, struct err *err)
{
	if (geteuid() == 0 && (drop_bounding(err) < 0 || change_user(s, err) < 0))
		return -1;
	if (keep_capabilities(0, err) < 0 || close_to_others(true, err) < 0 ||
	    no_new_privs(err) < 0)
		return -1;
	return filter_install(-1, err);
}
