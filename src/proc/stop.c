/*
 * The end of a worker or janitor, asked for by SIGTERM. Both call it; the keeper and the master
 * read their signals from a descriptor instead. Never ends the process by itself.
 */
#include "proc/stop.h"

#include <signal.h>

/* A handler can reach nothing but a static. */
static volatile int stop_flag;

static void on_term(int sig)
{
	(void)sig;
	stop_flag = 1;
}

const volatile int *stop_catch(void)
{
	const struct sigaction act = { .sa_handler = on_term };
	sigaction(SIGTERM, &act, NULL);
	return &stop_flag;
}

bool stop_asked(void)
{
	sigset_t pending;
	if (stop_flag)
		return true;
	return sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
}
