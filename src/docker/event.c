/*
 * Container events of our instance as they happen. Called by the keeper's watching filler. It keeps
 * nothing between calls: what was missed is found by listing (trap 35).
 */
#include "docker/event.h"

#include "base/alloc.h"
#include "base/err.h"
#include "docker/engine.h"
#include "docker/reply.h"

#include <errno.h>
#include <string.h>

struct watch {
	int (*fn)(const struct event *, void *);
	void *arg;
	bool ended;
};

static int on_event(struct json_object *object, void *arg)
{
	struct watch *w = arg;
	struct event event = { 0 };

	/* The fields that every API version has: `id` and `status` are gone since 1.52. */
	reply_copy(object, "Actor/ID", event.id, sizeof(event.id));
	reply_copy(object, "Action", event.action, sizeof(event.action));
	if (strcmp(reply_text(object, "Type"), "container") || !*event.id)
		return 0;
	w->ended = w->fn(&event, w->arg) != 0;
	return w->ended;
}

int event_watch(struct engine *e, const char *instance, int (*fn)(const struct event *, void *),
		void *arg, struct err *err)
{
	AUTO_FREE char *filter = reply_filter(
		instance, "{\"type\":[\"container\"],\"event\":[\"die\",\"oom\",\"destroy\"]}");
	AUTO_FREE char *path = xasprintf("/events?filters=%s", filter);
	struct err inner = ERR_INIT;
	struct watch w = { .fn = fn, .arg = arg };

	if (engine_stream(e, "GET", path, on_event, &w, &inner) < 0) {
		if (inner.sys == ETIMEDOUT) /* the deadline is this call's ordinary end */
			return 0;
		if (err)
			*err = inner;
		return -1;
	}
	return w.ended ? 0
		       : err_sys(err, ERR_ENGINE, ENODATA,
				 "The Docker engine ended its stream of events");
}
