#pragma once

#include "base/base.h"
#include "wire/frame.h"

/* Why a job can't be set up: the code and the words of a FAIL frame. */
struct why {
	enum frame_fail code;
	char text[400];
};

/* Fills *w; Returns -1. */
int why_set(struct why *w, enum frame_fail code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same with ": " and the words for errno; ENOSPC and EDQUOT turn the code into FRAME_FAIL_DISK.
 */
int why_sys(struct why *w, enum frame_fail code, const char *fmt, ...) PRINTF_LIKE(3, 4);
