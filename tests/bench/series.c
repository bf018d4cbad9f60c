/*
 * Times of rounds: kept, ordered, printed as a table for people and as JSON for machines. Every
 * program of make bench ends with it. It measures nothing itself.
 */
#include "bench/series.h"

#include <stdio.h>
#include <stdlib.h>

void series_add(struct series *s, int64_t us)
{
	if (s->count < ROUNDS_MAX)
		s->ms[s->count++] = (double)us / 1000.0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double series_at(struct series *s, double share)
{
	qsort(s->ms, s->count, sizeof(s->ms[0]), by_value);
	return s->count ? s->ms[(size_t)(share * (double)(s->count - 1) + 0.5)] : 0;
}

static double ratio(struct series *s, struct series *base)
{
	double of = series_at(base, 0.5);

	return of > 0 ? series_at(s, 0.5) / of : 1.0;
}

void series_print(struct series *all, size_t count)
{
	printf("%-44s %9s %9s %9s %7s\n", "milliseconds", "p50", "p95", "p99", "ratio");
	for (size_t i = 0; i < count; i++)
		printf("%-44s %9.1f %9.1f %9.1f %7.2f\n", all[i].name, series_at(&all[i], 0.5),
		       series_at(&all[i], 0.95), series_at(&all[i], 0.99), ratio(&all[i], all));
	printf("{\"unit\": \"ms\", \"rounds\": %zu, \"rows\": [", all[0].count);
	for (size_t i = 0; i < count; i++)
		printf("%s{\"name\": \"%s\", \"p50\": %.1f, \"p95\": %.1f, \"p99\": %.1f, "
		       "\"ratio\": %.3f}",
		       i ? ", " : "", all[i].name, series_at(&all[i], 0.5),
		       series_at(&all[i], 0.95), series_at(&all[i], 0.99), ratio(&all[i], all));
	puts("]}");
	fflush(stdout);
}
