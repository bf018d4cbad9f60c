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

static double mb_per_second(struct series *s)
{
	double median = series_at(s, 0.5);

	return median > 0 ? s->mb * 1000.0 / median : 0;
}

static void print_table(const char *title, struct series *all, size_t count)
{
	printf("\n%-46s %5s %9s %9s %9s %7s%s\n", title, "n", "p50 ms", "p95 ms", "p99 ms", "ratio",
	       all[0].mb > 0 ? "    MB/s" : "");
	for (size_t i = 0; i < count; i++) {
		struct series *s = &all[i];

		printf("%-46s %5zu %9.1f %9.1f %9.1f %7.3f", s->name, s->count, series_at(s, 0.5),
		       series_at(s, 0.95), series_at(s, 0.99), ratio(s, all));
		if (s->mb > 0)
			printf(" %7.0f", mb_per_second(s));
		puts("");
	}
}

void series_print(const char *title, struct series *all, size_t count)
{
	print_table(title, all, count);
	printf("{\"title\": \"%s\", \"unit\": \"ms\", \"rows\": [", title);
	for (size_t i = 0; i < count; i++) {
		struct series *s = &all[i];

		printf("%s{\"name\": \"%s\", \"n\": %zu, \"p50\": %.2f, \"p95\": %.2f, "
		       "\"p99\": %.2f, \"ratio\": %.4f",
		       i ? ", " : "", s->name, s->count, series_at(s, 0.5), series_at(s, 0.95),
		       series_at(s, 0.99), ratio(s, all));
		if (s->mb > 0)
			printf(", \"mb_per_second\": %.1f", mb_per_second(s));
		printf("}");
	}
	puts("]}");
	fflush(stdout);
}
