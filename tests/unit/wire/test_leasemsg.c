/* Messages between our processes: each field at and over its edge, and texts without an end. */
#include "limits.h"
#include "unit/suites.h"
#include "wire/leasemsg.h"

#include <check.h>

static const struct lease_ask ask = {
	.magic = LEASE_MAGIC,
	.kind = LEASE_TAKE,
	.wait_ms = 10000,
	.run_ms = 60000,
	.tenant = "local",
	.limits = { .memory_mb = 512, .cpu_milli = 1000, .pids = 64, .disk_mb = 256, .tmp_mb = 64 }
};

static void clear_magic(struct lease_ask *a)
{
	a->magic = 0;
}
static void bad_kind(struct lease_ask *a)
{
	a->kind = 3;
}
static void no_kind(struct lease_ask *a)
{
	a->kind = 0;
}
static void long_wait(struct lease_ask *a)
{
	a->wait_ms = UINT32_MAX;
}
static void long_run(struct lease_ask *a)
{
	a->run_ms = UINT32_MAX;
}
static void no_run(struct lease_ask *a)
{
	a->run_ms = 0;
}
static void no_memory(struct lease_ask *a)
{
	a->limits.memory_mb = 0;
}
static void low_memory(struct lease_ask *a)
{
	a->limits.memory_mb = LIMIT_MEMORY_MIN_MB - 1;
}
static void all_memory(struct lease_ask *a)
{
	a->limits.memory_mb = UINT32_MAX;
}
static void no_cpu(struct lease_ask *a)
{
	a->limits.cpu_milli = LIMIT_CPU_MIN_MILLI - 1;
}
static void all_cpu(struct lease_ask *a)
{
	a->limits.cpu_milli = UINT32_MAX;
}
static void no_pids(struct lease_ask *a)
{
	a->limits.pids = 0;
}
static void all_pids(struct lease_ask *a)
{
	a->limits.pids = UINT32_MAX;
}
static void no_disk(struct lease_ask *a)
{
	a->limits.disk_mb = 0;
}
static void no_tmp(struct lease_ask *a)
{
	a->limits.tmp_mb = 0;
}
static void full_disk(struct lease_ask *a)
{
	a->limits.disk_mb = 448;
}
static void wrapping_disk(struct lease_ask *a)
{
	a->limits.disk_mb = UINT32_MAX - 10;
}

static void no_bool(struct lease_ask *a)
{
	a->made = 2;
}
static void no_tenant(struct lease_ask *a)
{
	a->tenant[0] = '\0';
}
static void bad_tenant(struct lease_ask *a)
{
	a->tenant[0] = '/';
}
static void long_tenant(struct lease_ask *a)
{
	memset(a->tenant, 'a', LIMIT_TENANT_BYTES + 1);
}
static void endless_tenant(struct lease_ask *a)
{
	memset(a->tenant, 'a', sizeof(a->tenant));
}

static void (*const breaks[])(struct lease_ask *) = {
	clear_magic, bad_kind,	 no_kind,     long_wait,      long_run,	     no_run,
	no_memory,   low_memory, all_memory,  no_cpu,	      all_cpu,	     no_pids,
	all_pids,    no_disk,	 no_tmp,      full_disk,      wrapping_disk, no_bool,
	no_tenant,   bad_tenant, long_tenant, endless_tenant,
};

START_TEST(asks_are_checked)
{
	struct lease_ask a = ask;

	ck_assert(lease_ask_ok(&a));
	breaks[_i](&a);
	ck_assert(!lease_ask_ok(&a));
}
END_TEST

START_TEST(status_asks_need_no_limits)
{
	struct lease_ask a = { .magic = LEASE_MAGIC, .kind = LEASE_STATUS };

	ck_assert(lease_ask_ok(&a));
}
END_TEST

START_TEST(grants_are_checked)
{
	const struct lease_grant good = { .magic = LEASE_MAGIC, .id = "0123abcdef" };
	struct lease_grant g = good;

	ck_assert(lease_grant_ok(&g));
	memset(g.id, 'a', 64);
	ck_assert(lease_grant_ok(&g));
	memset(g.id, 'a', sizeof(g.id));
	ck_assert(!lease_grant_ok(&g));
	g = good;
	g.id[0] = '/';
	ck_assert(!lease_grant_ok(&g));
	g.id[0] = '\0';
	ck_assert(!lease_grant_ok(&g));
	g.code = ERR_BUSY;
	ck_assert(lease_grant_ok(&g));
	g.code = ERR_COUNT;
	ck_assert(!lease_grant_ok(&g));
	g = good;
	g.warm = 2;
	ck_assert(!lease_grant_ok(&g));
	g = good;
	g.magic++;
	ck_assert(!lease_grant_ok(&g));
	g = good;
	g.retry_after_s = UINT32_MAX;
	ck_assert(!lease_grant_ok(&g));
	g = good;
	memset(g.text, 'a', sizeof(g.text));
	ck_assert(!lease_grant_ok(&g));
	g = good;
	memset(g.cause, 'a', sizeof(g.cause));
	ck_assert(!lease_grant_ok(&g));
}
END_TEST

#define TEXT(member)                                                                               \
	{                                                                                          \
		offsetof(struct lease_status, member),                                             \
			sizeof(((struct lease_status *)NULL)->member)                              \
	}
static const struct {
	size_t offset, size;
} texts[] = { TEXT(engine),	 TEXT(engine_version), TEXT(api_version),
	      TEXT(oci_runtime), TEXT(cgroup),	       TEXT(os),
	      TEXT(image),	 TEXT(problem),	       TEXT(fix) };
static const size_t numbers[] = {
	offsetof(struct lease_status, magic),	  offsetof(struct lease_status, installed),
	offsetof(struct lease_status, running),	  offsetof(struct lease_status, image_exists),
	offsetof(struct lease_status, limits_ok), offsetof(struct lease_status, slots),
	offsetof(struct lease_status, leased),	  offsetof(struct lease_status, queued)
};

START_TEST(statuses_are_checked)
{
	const struct lease_status good = { .magic = LEASE_MAGIC, .installed = 1, .slots = 8 };
	struct lease_status s = good;

	ck_assert(lease_status_ok(&s));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		s = good;
		memset((char *)&s + texts[i].offset, 'a', texts[i].size);
		ck_assert(!lease_status_ok(&s));
		((char *)&s)[texts[i].offset + texts[i].size - 1] = '\0';
		ck_assert(lease_status_ok(&s));
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		s = good;
		memset((char *)&s + numbers[i], 0xff, 4);
		ck_assert(!lease_status_ok(&s));
	}
}
END_TEST

Suite *suite_wire_leasemsg(void)
{
	Suite *s = suite_create("wire_leasemsg");
	TCase *tc = tcase_create("leasemsg");

	tcase_add_loop_test(tc, asks_are_checked, 0, ARRAY_SIZE(breaks));
	tcase_add_test(tc, status_asks_need_no_limits);
	tcase_add_test(tc, grants_are_checked);
	tcase_add_test(tc, statuses_are_checked);
	suite_add_tcase(s, tc);
	return s;
}
