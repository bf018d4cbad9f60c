#pragma once

struct setup;

/* The janitor's life: sweeps FILE_STORAGE_DIR until SIGTERM. Returns the exit status. */
int janitor_run(const struct setup *s);
