/*
 * Uploads that fail, and what is left of them: nothing. Too large, of a refused type, over the
 * quota, on a full disk, with a client that leaves or a worker that dies in the middle.
 */
#include "base/alloc.h"
#include "limits.h"
#include "suites.h"
#include "support/answer.h"
#include "support/fcgi.h"
#include "support/form.h"
#include "support/front.h"
#include "support/ps.h"
#include "support/service.h"
#include "support/tool.h"
#include "system/uploads.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MIB (1 << 20)
/* Of a file of 1 MiB; a worker reads whole pieces. */
#define HALF (3 * LIMIT_PIECE_BYTES)

static struct service svc;
static struct front web;

static const char *const settings[] = { "MAX_FILE_SIZE_MB=1",
					"MAX_UPLOAD_MB=4",
					"FILES_QUOTA_MB=2",
					"WORKERS=3",
					"UPLOAD_DENY=text/html",
					"UPLOAD_ALLOW=text/*, application/octet-stream",
					NULL };

static void setup(void)
{
	service_up(&svc, settings);
	front_start(&web, &svc, settings);
}

static void teardown(void)
{
	front_stop(&web);
	service_clear(&svc);
}

static void want_too_large(const struct answer *a, const char *setting)
{
	WANT_STATUS(a, 413);
	WANT_STR(a, "error.code", "too_large");
	WANT_IN(a, "detail", "exceeds maximum");
	WANT_IN(a, "detail", setting);
}

START_TEST(a_file_over_its_cap)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(answer) b = ANSWER_INIT;
	AUTO(answer) c = ANSWER_INIT;

	uploads_fill(&web, "big", 3 * MIB, 1, &a);
	want_too_large(&a, "MAX_FILE_SIZE_MB");
	uploads_fill(&web, "one more", MIB + 1, 1, &b);
	want_too_large(&b, "MAX_FILE_SIZE_MB");
	/* nginx's own word, before the service sees any of it. */
	uploads_fill(&web, "larger than a body", 5 * MIB, 1, &c);
	want_too_large(&c, "MAX_UPLOAD_MB");
	uploads_want_nothing(&svc);
}
END_TEST

/* The first bytes of a body that is to have 3 MiB: a file that is whole, and `len` bytes of the
 * next one. */
static void begin(struct fcgi *f, struct strbuf *body, size_t len)
{
	AUTO(strbuf) data = STRBUF(UPLOADS_BODY_MAX);

	uploads_bytes(&data, len, 1);
	form_file(body, "file", "whole", "text/plain", "whole", 5);
	form_file(body, "file", "half", "text/plain", data.buf, data.len);
	fcgi_start(f, svc.fcgi,
		   &(struct fcgi_request){ .uri = "/v1/files",
					   .type = FORM_TYPE,
					   .body = body->buf,
					   .len = body->len - 2, /* the line's end */
					   .length = "3145728",
					   .open = true });
}

/* The client has more to send, and sends nothing, until it has its answer. */
START_TEST(the_answer_does_not_wait_for_the_rest)
{
	AUTO(strbuf) body = STRBUF(UPLOADS_BODY_MAX);
	AUTO(answer) a = ANSWER_INIT;
	struct fcgi f;

	begin(&f, &body, MIB + MIB / 2);
	fcgi_finish(&f, &a, 4 * LIMIT_DRAIN_MS);
	want_too_large(&a, "MAX_FILE_SIZE_MB");
	uploads_want_nothing(&svc);
}
END_TEST

static bool is_half_there(void *arg)
{
	(void)fcgi_done(arg); /* sends what the socket takes */
	/* Two contents; there are no descriptions yet. */
	return uploads_on_disk(&svc) == 2;
}

START_TEST(a_client_that_leaves)
{
	AUTO(strbuf) body = STRBUF(UPLOADS_BODY_MAX);
	AUTO(answer) a = ANSWER_INIT;
	struct fcgi f;

	begin(&f, &body, HALF);
	ck_assert_msg(tool_until(is_half_there, &f, TOOL_WAIT_MS), "nothing has begun");
	front_call(&web, "GET", "/v1/files", NULL, NULL, &a);
	WANT(&a, json_object_array_length(answer_get(&a, "files")) == 0);
	fcgi_drop(&f);
	uploads_want_nothing(&svc);
}
END_TEST

/* True if the process has a file below the folder of half-written ones open. */
static bool is_writing(pid_t pid)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/fd", (int)pid);
	DIR *dir = opendir(path);
	struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		char to[400] = "";
		(void)!readlinkat(dirfd(dir), e->d_name, to, sizeof(to) - 1);
		found = strstr(to, "/files/local/tmp/");
	}
	if (dir)
		closedir(dir);
	return found;
}

static pid_t writing_worker(void)
{
	pid_t all[PS_MAX];
	size_t n = service_role(&svc, "worker", all, PS_MAX);

	for (size_t i = 0; i < n && i < PS_MAX; i++)
		if (is_writing(all[i]))
			return all[i];
	return 0;
}

/* As if the worker had died an hour ago; a sweep leaves alone what may be a minute old. Returns how
 * many there were. */
static int age_leftovers(void)
{
	const struct timespec old[2] = { { .tv_nsec = UTIME_OMIT },
					 { .tv_sec = time(NULL) - 3600 } };
	AUTO_FREE char *tmp = xasprintf("%s/files/local/tmp", svc.dir);
	DIR *dir = opendir(tmp);
	struct dirent *e;
	int count = 0;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			count += utimensat(dirfd(dir), e->d_name, old, AT_SYMLINK_NOFOLLOW) == 0;
	if (dir)
		closedir(dir);
	return count;
}

START_TEST(a_worker_that_dies)
{
	AUTO(strbuf) body = STRBUF(UPLOADS_BODY_MAX);
	AUTO(answer) lost = ANSWER_INIT;
	AUTO(answer) list = ANSWER_INIT;
	struct fcgi f;

	begin(&f, &body, HALF);
	ck_assert_msg(tool_until(is_half_there, &f, TOOL_WAIT_MS), "nothing has begun");
	pid_t worker = writing_worker();
	ck_assert(worker > 0 && kill(worker, SIGKILL) == 0);
	fcgi_finish(&f, &lost, TOOL_WAIT_MS);
	WANT(&lost, lost.status == 0);
	ck_assert(service_wait_role(&svc, "worker", 3, worker));
	front_call(&web, "GET", "/v1/files", NULL, NULL, &list);
	WANT_STATUS(&list, 200);
	WANT(&list, json_object_array_length(answer_get(&list, "files")) == 0);
	ck_assert_int_eq(age_leftovers(), 2);
	/* A new janitor begins with a sweep. */
	ck_assert(kill(service_one(&svc, "janitor"), SIGKILL) == 0);
	ck_assert(service_wait_log(&svc, "and 2 leftovers"));
	uploads_want_nothing(&svc);
}
END_TEST

/* What the client says of the type is no matter; what is refused is named with the rule. */
static const struct {
	int status;
	const char *data, *type, *rule;
} type_rows[] = {
	{ 201, "plain text\n", "text/plain", NULL },
	{ 415, "<!DOCTYPE html><html><body>x</body></html>", "text/html", "UPLOAD_DENY" },
	{ 415, "{\"a\": [1, 2, 3]}", "application/json", "UPLOAD_ALLOW" },
	{ 415, "%PDF-1.4\n%\n1 0 obj\n", "application/pdf", "UPLOAD_ALLOW" },
};

START_TEST(types_are_those_of_the_content)
{
	AUTO(strbuf) body = STRBUF(UPLOADS_BODY_MAX);
	AUTO(answer) a = ANSWER_INIT;

	form_file(&body, "file", "image.png", "text/plain", type_rows[_i].data,
		  strlen(type_rows[_i].data));
	uploads_send(&web, &body, &a);
	WANT_STATUS(&a, type_rows[_i].status);
	if (type_rows[_i].rule) {
		WANT_STR(&a, "error.code", "unsupported_media_type");
		WANT_IN(&a, "detail", type_rows[_i].type);
		WANT_IN(&a, "detail", type_rows[_i].rule);
	} else {
		AUTO(answer) gone = ANSWER_INIT;
		WANT_STR(&a, "mime_type", type_rows[_i].type);
		uploads_at(&web, "DELETE", answer_str(&a, "file_id"), &gone);
		WANT(&gone, gone.status == 204);
	}
	uploads_want_nothing(&svc);
}
END_TEST

static void want_full(const struct answer *a)
{
	WANT_STATUS(a, 507);
	WANT_STR(a, "error.code", "store_full");
}

START_TEST(quota)
{
	AUTO(answer) first = ANSWER_INIT;
	AUTO(answer) over = ANSWER_INIT;
	AUTO(answer) small = ANSWER_INIT;
	AUTO(answer) gone = ANSWER_INIT;
	AUTO(answer) again = ANSWER_INIT;

	uploads_fill(&web, "first", MIB, 1, &first);
	WANT_STATUS(&first, 201);
	uploads_fill(&web, "small", 10, 2, &small);
	WANT_STATUS(&small, 201);
	uploads_fill(&web, "over", MIB, 3, &over);
	want_full(&over);
	uploads_want_listed(&svc, &web, 2);
	uploads_at(&web, "DELETE", answer_str(&small, "file_id"), &gone);
	WANT(&gone, gone.status == 204);
	uploads_fill(&web, "again", MIB, 4, &again);
	WANT_STATUS(&again, 201);
	uploads_want_listed(&svc, &web, 2);
}
END_TEST

/* A small file system as the store, in a mount namespace of this test's process: it ends with the
 * process and the service it started, however they end. */
static void up_on_small_disk(void)
{
	AUTO_FREE char *dir = NULL;

	service_prepare(&svc, NULL);
	dir = xasprintf("%s/files", svc.dir);
	ck_assert(mkdir(dir, 0755) == 0);
	ck_assert(unshare(CLONE_NEWNS) == 0);
	ck_assert(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	ck_assert_msg(mount("none", dir, "tmpfs", 0, "size=2m,mode=755") == 0, "%s",
		      strerror(errno));
	service_start(&svc, true);
	front_start(&web, &svc, NULL);
}

static void down_from_small_disk(void)
{
	AUTO_FREE char *dir = svc.dir ? xasprintf("%s/files", svc.dir) : NULL;

	front_stop(&web);
	service_stop(&svc);
	if (dir)
		(void)umount2(dir, MNT_DETACH);
	service_clear(&svc);
}

/* Takes what space there is left. */
static void fill_disk(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	static const char zeros[4096];

	ck_assert_int_ge(fd, 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		continue;
	ck_assert_int_eq(errno, ENOSPC);
}

START_TEST(a_full_disk)
{
	AUTO(answer) first = ANSWER_INIT;
	AUTO(answer) over = ANSWER_INIT;
	AUTO(answer) none = ANSWER_INIT;
	AUTO(answer) again = ANSWER_INIT;
	AUTO(answer) gone = ANSWER_INIT;
	AUTO(answer) room = ANSWER_INIT;

	up_on_small_disk();
	AUTO_FREE char *filler = xasprintf("%s/files/usage.filler", svc.dir);
	uploads_fill(&web, "first", MIB, 1, &first);
	WANT_STATUS(&first, 201);
	/* It ends in the middle of the file. */
	uploads_fill(&web, "over", 3 * MIB / 2, 2, &over);
	want_full(&over);
	uploads_want_listed(&svc, &web, 1);
	/* Not a single byte is left. */
	fill_disk(filler);
	uploads_fill(&web, "none", 5, 3, &none);
	want_full(&none);
	ck_assert(unlink(filler) == 0);
	uploads_want_listed(&svc, &web, 1);
	uploads_fill(&web, "again", 5, 4, &again);
	WANT_STATUS(&again, 201);
	uploads_at(&web, "DELETE", answer_str(&first, "file_id"), &gone);
	WANT(&gone, gone.status == 204);
	uploads_fill(&web, "over", 3 * MIB / 2, 2, &room);
	WANT_STATUS(&room, 201);
	uploads_want_listed(&svc, &web, 2);
}
END_TEST

Suite *suite_upload_faults(void)
{
	Suite *s = suite_create("upload_faults");
	TCase *t = tcase_create("upload_faults"), *disk = tcase_create("full_disk");

	tcase_set_timeout(t, 240);
	tcase_add_unchecked_fixture(t, setup, teardown);
	tcase_add_test(t, a_file_over_its_cap);
	tcase_add_test(t, the_answer_does_not_wait_for_the_rest);
	tcase_add_test(t, a_client_that_leaves);
	tcase_add_test(t, a_worker_that_dies);
	tcase_add_loop_test(t, types_are_those_of_the_content, 0, ARRAY_SIZE(type_rows));
	tcase_add_test(t, quota); /* the last: it leaves files */
	suite_add_tcase(s, t);
	tcase_set_timeout(disk, 240);
	tcase_add_checked_fixture(disk, NULL, down_from_small_disk);
	tcase_add_test(disk, a_full_disk);
	suite_add_tcase(s, disk);
	return s;
}
