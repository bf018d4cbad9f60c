#pragma once

/*
 * Denies the calling process, and all it will ever start, the system calls by which one process
 * changes or reads another of the same user when that other one is PID 1. Needs no privilege, can't
 * be undone. -1: errno is set.
 */
int shield_install(void);
