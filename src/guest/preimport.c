/*
 * Watches the interpreter while it imports modules in advance: drivers/preimport.py does that, and
 * tells each step on the driver's socket. serve.c calls this between the frames, as long as there
 * is no GO; job.c gives the job to an interpreter without imports where one with them doesn't suit.
 * Nothing here fails a job: whatever a module does, the worst is an interpreter started later.
 */
#include "guest/preimport.h"

#include "guest/guest.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

void preimport_init(struct preimport *p, const char *names)
{
	size_t len = names ? strlen(names) : 0;

	*p = (struct preimport){ .done = true, .deadline_us = INT64_MAX };
	if (len == 0 || len > PREIMPORT_MAX)
		return;
	memcpy(p->names, names, len + 1);
	p->active = true;
	p->done = false;
}

void preimport_begin(struct guest *g)
{
	g->preimport.deadline_us = guest_now_us() + GUEST_PREIMPORT_MS * 1000LL;
}

bool preimport_watched(const struct guest *g)
{
	return g->preimport.active && (g->state == GUEST_WAITING || g->state == GUEST_STAGING);
}

int64_t preimport_deadline(const struct guest *g)
{
	return preimport_busy(&g->preimport) ? g->preimport.deadline_us : INT64_MAX;
}

bool preimport_busy(const struct preimport *p)
{
	return p->active && !p->done;
}

bool preimport_used(const struct preimport *p)
{
	return p->active && p->names[0];
}

void preimport_stop(struct preimport *p)
{
	preimport_init(p, NULL);
}

/* Takes the name with this number, from 1, out of the list. */
static void drop(char *names, unsigned at)
{
	char *begin = names;
	size_t len;

	while (--at && begin) {
		begin = strchr(begin, ',');
		begin = begin ? begin + 1 : NULL;
	}
	if (!begin) {
		names[0] = '\0'; /* it told of more names than there are */
		return;
	}
	len = strcspn(begin, ",");
	if (begin[len]) {
		memmove(begin, begin + len + 1, strlen(begin + len + 1) + 1);
		return;
	}
	begin[begin > names ? -1 : 0] = '\0';
}

/* False: the interpreter has refused, or its socket is closed. */
static bool listen_to(struct guest *g)
{
	struct preimport *p = &g->preimport;
	char got;

	for (;;) {
		ssize_t n = g->child.ctl < 0 ? -1 : recv(g->child.ctl, &got, 1, MSG_DONTWAIT);

		if (n < 0 && g->child.ctl >= 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (n < 0)
			return true;
		if (n == 0)
			return false;
		if (got == CHILD_NEXT)
			p->at++;
		else if (got == CHILD_DONE || (got == CHILD_READY && !p->names[0]))
			p->done = true;
		else if (got != CHILD_READY)
			return false;
	}
}

/*
 * Without the module at which it ended. One that ended when all was imported, or before the first,
 * was ended by something else, like the container's memory: then without any. If not even that one
 * stays, none is started before the job is there.
 */
static void replace(struct guest *g)
{
	struct preimport *p = &g->preimport;
	bool plain = !p->names[0];

	if (p->at && !p->done)
		drop(p->names, p->at);
	else
		p->names[0] = '\0';
	child_clear(&g->child);
	p->at = 0;
	p->done = plain;
	preimport_begin(g);
	if (plain || child_start(&g->child, &g->spec, &g->why) == 0)
		return;
	g->why = (struct why){ 0 };
	p->names[0] = '\0';
	p->done = true;
}

void preimport_turn(struct guest *g)
{
	if (!preimport_watched(g) || g->child.pid == 0)
		return;
	if (!listen_to(g) || g->child.ended || guest_now_us() >= preimport_deadline(g))
		replace(g);
}
