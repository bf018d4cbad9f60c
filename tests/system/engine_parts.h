#pragma once

#include <check.h>

/* The parts of suite_engine that have files of their own. */
TCase *engine_volume(void);
TCase *engine_faults(void);
TCase *engine_trouble(void);
TCase *engine_streams(void);
