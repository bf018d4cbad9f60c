#pragma once

#include "base/base.h"

struct guest;

/* Handlers of the frames before the start. -1: g->why says why the job can't be set up. */
int job_take(struct guest *g, const uint8_t *data, uint32_t len); /* JOB */
int job_put(struct guest *g, const uint8_t *data, uint32_t len);  /* PUT */
int job_data(struct guest *g, const uint8_t *data, uint32_t len); /* DATA */
int job_end(struct guest *g, const uint8_t *data, uint32_t len);  /* END */
/* GO: hands the job to the driver; when it returns 0 the program runs. */
int job_start(struct guest *g);
