#pragma once

#include "base/base.h"

/*
 * Prometheus' text format 0.0.4, read strictly: HELP and TYPE once for each metric and before its
 * samples, all lines of a metric together, names and escapes as the format has them, no series
 * twice, buckets that rise to +Inf, which is the count. Whatever is otherwise ends the test.
 */
struct prom_sample {
	char *series; /* as it stands there: name{label="value",...} */
	double value;
};
struct prom {
	struct prom_sample *samples;
	size_t count;
};

void prom_parse(struct prom *p, const char *text);
void prom_clear(struct prom *p);
/* The series' value; the test ends when there is none. */
double prom_get(const struct prom *p, const char *series);
bool prom_has(const struct prom *p, const char *series);
/* The sum of all series whose text begins so. */
double prom_sum(const struct prom *p, const char *prefix);
