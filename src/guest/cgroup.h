#pragma once

#include "base/base.h"

/* How often the kernel killed a process of this container for memory; `known` false: no counter is
 * readable. */
struct cgroup_count {
	bool known;
	uint64_t kills;
};

/* cgroup v2 first, then v1. */
struct cgroup_count cgroup_oom_kills(void);
/* Most bytes of memory the container ever used; 0: not known. */
uint64_t cgroup_memory_peak(void);
