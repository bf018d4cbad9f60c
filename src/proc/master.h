#pragma once

struct setup;

/*
 * The master's life: forks the roles of role_table, restarts what dies (with back-off when it dies
 * young), reloads on SIGHUP, and on SIGTERM or SIGINT ends all with SIGTERM, then SIGKILL. `s` is
 * open. Returns the exit status.
 */
int master_run(const struct setup *s);
