#pragma once

struct guest;
struct frame_exit;

/* Why and how the program ended, once nothing lives: from the wait status, our own kill and the
 * cgroup's counter. */
void verdict_make(const struct guest *g, struct frame_exit *out);
