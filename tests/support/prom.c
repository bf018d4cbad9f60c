/*
 * A strict reader of metrics as text. One pass over the lines, with the metric that is open and the
 * histogram that is being read as its only state.
 */
#include "support/prom.h"

#include "base/alloc.h"
#include "base/strbuf.h"

#include <check.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAMILIES 256
#define NAME_BYTES 128
#define LABELS_BYTES 512
#define LABELS_MAX 8

enum kind { COUNTER, GAUGE, HISTOGRAM };
static const char *const kind_names[] = { "counter", "gauge", "histogram" };

struct reader {
	struct prom *out;
	const char *line; /* for messages */
	char families[FAMILIES][NAME_BYTES];
	size_t families_count;
	char family[NAME_BYTES]; /* the open one */
	bool typed;		 /* its TYPE was there */
	enum kind kind;
	size_t samples; /* of the open one */

	/* The histogram under way */
	char labels[LABELS_BYTES]; /* without le */
	double le, buckets;
	bool in_buckets, summed;
};

struct sample {
	char name[NAME_BYTES];
	char labels[LABELS_BYTES]; /* without le */
	char le[LABELS_BYTES];
	bool has_le;
	double value;
};

static NORETURN void bad(const struct reader *r, const char *why)
{
	ck_abort_msg("metrics: %s: \"%.*s\"", why, (int)strcspn(r->line, "\n"), r->line);
	abort();
}

static size_t name_length(const char *s, bool colons)
{
	size_t n = 0;
	while (isalnum((unsigned char)s[n]) || s[n] == '_' || (colons && s[n] == ':'))
		n++;
	return isdigit((unsigned char)s[0]) ? 0 : n;
}

static const char *take_name(const struct reader *r, const char *at, char *out)
{
	size_t n = name_length(at, true);
	if (n == 0 || n >= NAME_BYTES)
		bad(r, "not a name");
	memcpy(out, at, n);
	out[n] = '\0';
	return at + n;
}

/* A number as we write them: no exponent, no sign but minus, no spaces. */
static double take_number(const struct reader *r, const char *at)
{
	size_t n = strcspn(at, "\n"), whole, i = at[0] == '-';
	char *end;
	if (n == 4 && strncmp(at, "+Inf", 4) == 0)
		return INFINITY;
	for (whole = i; isdigit((unsigned char)at[i]);)
		i++;
	if (i == whole)
		bad(r, "not a number");
	if (at[i] == '.')
		for (i++; isdigit((unsigned char)at[i]);)
			i++;
	if (i != n || at[i - 1] == '.')
		bad(r, "not a number");
	return strtod(at, &end);
}

/* From after = and the first quote to after the last one. */
static const char *take_value(const struct reader *r, const char *at, char *out, size_t max)
{
	size_t n = 0;
	for (; *at != '"'; at++) {
		if (*at == '\0' || *at == '\n' || n + 2 >= max)
			bad(r, "a label's value does not end");
		out[n++] = *at;
		if (*at != '\\')
			continue;
		if (!strchr("\\\"n", at[1]))
			bad(r, "no such escape");
		out[n++] = *++at;
	}
	out[n] = '\0';
	return at + 1;
}

static const char *take_label(const struct reader *r, const char *at, struct sample *s,
			      char names[][NAME_BYTES], size_t count)
{
	char value[LABELS_BYTES];
	size_t n = name_length(at, false), len = strlen(s->labels);
	if (count == LABELS_MAX || n == 0 || n >= NAME_BYTES || at[n] != '=' || at[n + 1] != '"')
		bad(r, "not a label");
	memcpy(names[count], at, n);
	names[count][n] = '\0';
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], names[count]) == 0)
			bad(r, "a label twice");
	at = take_value(r, at + n + 2, value, sizeof(value));
	if (strcmp(names[count], "le") == 0) {
		s->has_le = true;
		snprintf(s->le, sizeof(s->le), "%s", value);
	} else {
		snprintf(s->labels + len, sizeof(s->labels) - len, "%s=\"%s\",", names[count],
			 value);
	}
	return at;
}

static const char *take_labels(const struct reader *r, const char *at, struct sample *s)
{
	char names[LABELS_MAX][NAME_BYTES];
	size_t count = 0;
	do {
		at = take_label(r, at + 1, s, names, count++);
	} while (*at == ',');
	if (*at != '}')
		bad(r, "labels do not end");
	return at + 1;
}

static void check_bucket(struct reader *r, const struct sample *s)
{
	if (!s->has_le)
		bad(r, "a bucket without le");
	if (!r->in_buckets || strcmp(r->labels, s->labels) != 0) {
		if (r->in_buckets)
			bad(r, "the histogram before it has no count");
		snprintf(r->labels, sizeof(r->labels), "%s", s->labels);
		r->in_buckets = true;
		r->summed = false;
		r->le = -INFINITY;
		r->buckets = 0;
	}
	double le = take_number(r, s->le);
	if (r->summed || le <= r->le || s->value < r->buckets)
		bad(r, "buckets do not rise");
	r->le = le;
	r->buckets = s->value;
}

static void check_histogram(struct reader *r, const struct sample *s)
{
	const char *suffix = s->name + strlen(r->family);
	if (strcmp(suffix, "_bucket") == 0) {
		check_bucket(r, s);
		return;
	}
	if (s->has_le || !r->in_buckets || strcmp(r->labels, s->labels) != 0)
		bad(r, "not of the buckets before it");
	if (isfinite(r->le))
		bad(r, "the last bucket is not +Inf");
	if (strcmp(suffix, "_sum") == 0 && !r->summed) {
		r->summed = true;
	} else if (strcmp(suffix, "_count") == 0 && r->summed) {
		if (s->value < r->buckets || s->value > r->buckets)
			bad(r, "the count is not that of +Inf");
		r->in_buckets = false;
	} else {
		bad(r, "not a part of a histogram");
	}
}

static void check_sample(struct reader *r, const struct sample *s)
{
	size_t n = strlen(r->family);
	if (!r->typed || strncmp(s->name, r->family, n) != 0)
		bad(r, "a sample without its TYPE");
	if (r->kind == HISTOGRAM) {
		check_histogram(r, s);
		return;
	}
	if (s->name[n])
		bad(r, "a sample without its TYPE");
	if (r->kind == COUNTER && s->value < 0)
		bad(r, "a counter below 0");
}

static void keep_sample(struct reader *r, const char *end, double value)
{
	struct prom *p = r->out;
	char *series = xstrndup(r->line, (size_t)(end - r->line));
	if (prom_has(p, series))
		bad(r, "a series twice");
	p->samples = xrealloc(p->samples, (p->count + 1) * sizeof(*p->samples));
	p->samples[p->count++] = (struct prom_sample){ .series = series, .value = value };
	r->samples++;
}

static void read_sample(struct reader *r)
{
	struct sample s = { .has_le = false };
	const char *at = take_name(r, r->line, s.name);
	if (*at == '{')
		at = take_labels(r, at, &s);
	if (*at != ' ')
		bad(r, "no blank before the value");
	s.value = take_number(r, at + 1);
	check_sample(r, &s);
	keep_sample(r, at, s.value);
}

static void close_family(const struct reader *r)
{
	if (r->family[0] && (!r->typed || r->samples == 0))
		bad(r, "the metric before it has no TYPE or no sample");
	if (r->in_buckets)
		bad(r, "the histogram before it has no count");
}

static void read_help(struct reader *r)
{
	char name[NAME_BYTES];
	const char *at = take_name(r, r->line + strlen("# HELP "), name);
	if (at[0] != ' ' || strcspn(at + 1, "\n") < 10)
		bad(r, "HELP says nothing");
	for (size_t i = 0; i < r->families_count; i++)
		if (strcmp(r->families[i], name) == 0)
			bad(r, "a metric twice");
	close_family(r);
	ck_assert_uint_lt(r->families_count, FAMILIES);
	memcpy(r->families[r->families_count++], name, sizeof(name));
	memcpy(r->family, name, sizeof(name));
	r->typed = false;
	r->samples = 0;
}

static void read_type(struct reader *r)
{
	char name[NAME_BYTES];
	const char *at = take_name(r, r->line + strlen("# TYPE "), name);
	size_t len = strlen(name);
	if (strcmp(name, r->family) != 0 || r->typed || *at != ' ')
		bad(r, "TYPE does not follow its HELP");
	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++)
		if (strcspn(at + 1, "\n") == strlen(kind_names[i]) &&
		    strncmp(at + 1, kind_names[i], strlen(kind_names[i])) == 0) {
			r->kind = (enum kind)i;
			r->typed = true;
		}
	if (!r->typed)
		bad(r, "no such type");
	if (r->kind == COUNTER && (len < 6 || strcmp(name + len - 6, "_total") != 0))
		bad(r, "a counter whose name does not end in _total");
}

void prom_parse(struct prom *p, const char *text)
{
	struct reader *r = xcalloc(1, sizeof(*r));
	r->out = p;
	for (r->line = text; *r->line; r->line += strcspn(r->line, "\n") + 1) {
		if (!strchr(r->line, '\n'))
			bad(r, "the last line does not end");
		if (strncmp(r->line, "# HELP ", 7) == 0)
			read_help(r);
		else if (strncmp(r->line, "# TYPE ", 7) == 0)
			read_type(r);
		else
			read_sample(r);
	}
	close_family(r);
	free(r);
}

void prom_clear(struct prom *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->samples[i].series);
	free(p->samples);
	*p = (struct prom){ 0 };
}

static const struct prom_sample *find(const struct prom *p, const char *series)
{
	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->samples[i].series, series) == 0)
			return &p->samples[i];
	return NULL;
}

bool prom_has(const struct prom *p, const char *series)
{
	return find(p, series) != NULL;
}

double prom_get(const struct prom *p, const char *series)
{
	const struct prom_sample *s = find(p, series);
	ck_assert_msg(s != NULL, "metrics: there is no %s", series);
	return s->value;
}

double prom_sum(const struct prom *p, const char *prefix)
{
	double sum = 0;
	for (size_t i = 0; i < p->count; i++)
		if (strncmp(p->samples[i].series, prefix, strlen(prefix)) == 0)
			sum += p->samples[i].value;
	return sum;
}
