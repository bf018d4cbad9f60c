#pragma once

#include "base/base.h"

struct guest;

/* The program's streams. Each function does what can be done at once and never waits. */

/* Moves what the program wrote into frames, up to the job's cap; beyond it reads, counts and drops.
 */
void pump_output(struct guest *g);
/* What serve.c waits for: true if that pipe is open and there is room for what it would give. */
bool pump_wants_output(const struct guest *g, bool err_stream);
/* STDIN: keeps it for the program. -1: more than the credit that was given. */
int pump_take_stdin(struct guest *g, const uint8_t *data, uint32_t len);
void pump_end_stdin(struct guest *g);
/* Gives the program what its pipe takes and the worker the credit for it. */
void pump_stdin(struct guest *g);
/* Ends the program's stdin for good: what is still to come is dropped, with credit. */
void pump_drop_stdin(struct guest *g);
