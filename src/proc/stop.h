#pragma once

#include "base/base.h"

/*
 * SIGTERM of a role that serves one thing after the other. The master leaves the signal blocked; a
 * role lets it in only where it waits, so that nothing it has begun is broken off.
 */
/* Installs the handler. The flag it sets is what channel_accept looks at. */
const volatile int *stop_catch(void);
/* True once SIGTERM has come, also while it is still blocked: a wait that never has to wait lets
 * no signal in. */
bool stop_asked(void);
