/*
 * The janitor: removes stored files whose time is over and what the dead left half written beneath
 * FILE_STORAGE_DIR, as SERVICE_USER and under the workers' seccomp filter. Forked by the master;
 * the work is store/sweep.c. Never speaks to clients or Docker.
 */
#include "proc/janitor.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "conf.h"
#include "proc/setup.h"
#include "proc/stop.h"
#include "store/store.h"
#include "store/sweep.h"

#include <poll.h>
#include <signal.h>
#include <time.h>

#define SWEEP_MS 60000 /* an expired file or a leftover harms nobody for a minute */

static void sweep(const struct store *store, const volatile int *stop)
{
	struct err err = ERR_INIT;
	struct sweep done;

	if (sweep_run(store, clock_wall_ms(), stop, &done, &err) < 0)
		log_warn("the file store was not counted: %s: %s", err.text, err.cause);
	if (done.expired || done.damaged || done.leftovers)
		log_info("removed %d expired and %d damaged files and %d leftovers", done.expired,
			 done.damaged, done.leftovers);
}

int janitor_run(const struct setup *s)
{
	(void)s;
	const struct store_limits no_limits = { 0 };
	const struct timespec wait = { .tv_sec = SWEEP_MS / 1000 };
	const volatile int *stop = stop_catch();
	AUTO(store) store = STORE_INIT;
	struct err err = ERR_INIT;
	sigset_t none, blocked;

	sigemptyset(&none);
	if (store_open(&store, conf->storage_dir, &no_limits, &err) < 0) {
		log_err("cannot open FILE_STORAGE_DIR %s: %s: %s", conf->storage_dir, err.text,
			err.cause);
		return 1;
	}
	while (!stop_asked()) {
		/* The master left SIGTERM blocked. It is let in where its flag is looked at or
		 * where it ends a wait, so it cannot come between test and wait. */
		sigprocmask(SIG_SETMASK, &none, &blocked);
		sweep(&store, stop);
		sigprocmask(SIG_SETMASK, &blocked, NULL);
		if (!stop_asked())
			ppoll(NULL, 0, &wait, &none);
	}
	return 0;
}
