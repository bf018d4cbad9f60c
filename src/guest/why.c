/*
 * Words for what went wrong while a job was set up. Filled by everything that stages or starts,
 * read once by serve.c, which sends them as a FAIL frame. It sends and ends nothing itself.
 */
#include "guest/why.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int why_set(struct why *w, enum frame_fail code, const char *fmt, ...)
{
	va_list ap;

	w->code = code;
	va_start(ap, fmt);
	vsnprintf(w->text, sizeof(w->text), fmt, ap);
	va_end(ap);
	return -1;
}

int why_sys(struct why *w, enum frame_fail code, const char *fmt, ...)
{
	int sys = errno;
	size_t len;
	va_list ap;

	w->code = sys == ENOSPC || sys == EDQUOT ? FRAME_FAIL_DISK : code;
	va_start(ap, fmt);
	vsnprintf(w->text, sizeof(w->text), fmt, ap);
	va_end(ap);
	len = strlen(w->text);
	snprintf(w->text + len, sizeof(w->text) - len, ": %s", strerror(sys));
	return -1;
}
