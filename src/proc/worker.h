#pragma once

struct channel;
struct setup;

/* A worker's life: serves requests until SIGTERM or WORKER_REQUESTS. Returns the exit status. */
int worker_run(const struct setup *s);
/* One accepted request from its parameters to its access line. */
void worker_serve(struct channel *channel);
