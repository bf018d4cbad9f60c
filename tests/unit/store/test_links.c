/*
 * A store in which someone has planted links in every place where the store opens something, all to
 * a folder outside that looks like the real thing. The kernel tells (inotify) if anything outside
 * is ever opened, read, changed or removed.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "store/beneath.h"
#include "support/tool.h"
#include "unit/store/store_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static char *outside;
static char id[IDENT_UUID];
static int watch_fd = -1;

static const char *out(const char *path)
{
	static char paths[4][512];
	static unsigned turn;
	char *text = paths[turn++ % 4];

	snprintf(text, sizeof(paths[0]), "%s/%s", outside, path);
	return text;
}

static void watch(const char *path)
{
	int w = inotify_add_watch(watch_fd, out(path), IN_ALL_EVENTS);

	ck_assert_msg(w >= 0, "%s: %s", path, strerror(errno));
}

/* Fails the test if anything has happened outside. */
static void check_untouched(const char *what)
{
	char events[4096];
	ssize_t n = read(watch_fd, events, sizeof(events));
	const struct inotify_event *e = (const struct inotify_event *)events;

	ck_assert_msg(n < 0 && errno == EAGAIN, "%s: event %x on '%s' outside", what,
		      n > 0 ? e->mask : 0, n > 0 && e->len ? e->name : "");
}

/* One real file, and a copy of the store as it then is, which lies outside. */
static void links_setup(void)
{
	const char *copy[] = { "cp", "-a", NULL, NULL, NULL };
	AUTO(strbuf) said = STRBUF(10000);
	AUTO_FREE char *from = NULL;

	store_setup();
	put_text("real", "real content", id);
	outside = tool_new_dir("outside");
	from = xasprintf("%s/.", store_path);
	copy[2] = from;
	copy[3] = outside;
	ck_assert_msg(tool_run(copy, NULL, &said) == 0, "%s", said.buf);
	watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	ck_assert_int_ge(watch_fd, 0);
	watch("");
	watch("usage");
	watch("t");
	watch("t/usage");
	watch("t/tmp");
	watch(strchr(below("t/%.2s", id) + strlen(store_path), 't'));
	watch(strchr(below("t/%.2s/%s", id, id) + strlen(store_path), 't'));
	watch(strchr(below("t/%.2s/%s/content", id, id) + strlen(store_path), 't'));
	watch(strchr(below("t/%.2s/%s/meta.json", id, id) + strlen(store_path), 't'));
}

static void links_teardown(void)
{
	close(watch_fd);
	tool_rmtree(outside);
	free(outside);
	store_teardown();
}

/* Puts a link to the same place outside where `path` is. */
static void plant(const char *path)
{
	AUTO_FREE char *place = xstrdup(below("%s", path));
	AUTO_FREE char *aside = xasprintf("%s-aside", place);

	ck_assert_msg(rename(place, aside) == 0, "%s: %s", place, strerror(errno));
	ck_assert_int_eq(symlink(out(path), place), 0);
}

/* Everything the store can do, most of which must fail now. Nothing may come back from outside. */
static void try_everything(const char *what, bool link_on_path)
{
	AUTO(blob_list) list = { 0 };
	struct sweep swept;
	struct blob b;
	int fd;

	if (blob_open(&store, "t", id, &b, &fd, &err) == 0) {
		ck_assert_msg(!link_on_path, "%s was followed", what);
		close(fd);
		blob_clear(&b);
	}
	check_untouched(what);
	ck_assert_int_eq(blob_list_load(&list, &store, "t", NULL, 10, &err), 0);
	if (link_on_path)
		ck_assert_msg(list.count == 0, "%s was followed", what);
	check_untouched(what);
	(void)put("new", "x", 1, &store_rules, NULL);
	check_untouched(what);
	(void)sweep_run(&store, clock_wall_ms() + LIMIT_DAMAGED_MS * 10, NULL, &swept, &err);
	check_untouched(what);
	(void)blob_delete(&store, "t", id, &err);
	check_untouched(what);
	(void)blob_discard(&store, "t", id, &err);
	check_untouched(what);
}

START_TEST(follows_no_link)
{
	static const char *const places[] = { "usage", "t", "t/usage",	"t/tmp",
					      "",      "/", "/content", "/meta.json" };
	const char *place = places[_i], *rest = place[0] && place[1] ? place : "";
	char path[128];

	/* _i is the loop test's index; each place gets a store of its own. The last four are those
	 * of the file. */
	if (_i < 4)
		snprintf(path, sizeof(path), "%s", place);
	else if (!*place)
		snprintf(path, sizeof(path), "t/%.2s", id);
	else
		snprintf(path, sizeof(path), "t/%.2s/%s%s", id, id, rest);
	plant(path);
	try_everything(path, _i == 1 || _i >= 4);
}
END_TEST

START_TEST(writes_through_no_link)
{
	AUTO(blob_write) w = BLOB_WRITE_INIT;
	char path[128];

	ck_assert_int_eq(blob_write_open(&w, &store, "t", "new", &store_rules, &err), 0);
	ck_assert_int_eq(blob_write_add(&w, "x", 1, &err), 0);
	/* The folder into which it will go, and its own. */
	snprintf(path, sizeof(path), "%s", below("t/%.2s", w.blob.id));
	(void)rename(path, below("t/aside"));
	ck_assert_int_eq(symlink(outside, path), 0);
	ck_assert_int_eq(blob_write_commit(&w, NULL, &err), -1);
	ck_assert_int_eq(err.code, ERR_INTERNAL);
	check_untouched("the folder of two digits");
	blob_write_clear(&w);
	ck_assert_int_eq(blob_write_open(&w, &store, "t", "new", &store_rules, &err), 0);
	snprintf(path, sizeof(path), "%s", below("t/tmp/%s", w.blob.id));
	(void)rename(path, below("t/tmp/aside"));
	ck_assert_int_eq(symlink(outside, path), 0);
	ck_assert_int_eq(blob_write_commit(&w, NULL, &err), -1);
	blob_write_clear(&w);
	check_untouched("the temporary folder");
	ck_assert_int_eq(access(out("usage"), F_OK), 0);
}
END_TEST

START_TEST(sweeps_through_no_link)
{
	struct sweep swept;

	ck_assert_int_eq(symlink(outside, below("t/tmp/3f2b8a54-1c1d-4e3a-9c55-0123456789ab")), 0);
	ck_assert_int_eq(symlink(outside, below("t/tmp/x.gone")), 0);
	ck_assert_int_eq(symlink(outside, below("other")), 0);
	ck_assert_int_eq(
		sweep_run(&store, clock_wall_ms() + LIMIT_DAMAGED_MS * 10, NULL, &swept, &err), 0);
	check_untouched("tmp");
	/* The links themselves are rubbish like any other. */
	ck_assert_int_ne(access(below("t/tmp/x.gone"), F_OK), 0);
	ck_assert_int_eq(access(out("t/usage"), F_OK), 0);
}
END_TEST

START_TEST(hangs_on_no_fifo)
{
	struct blob b;
	int fd;

	ck_assert_int_eq(unlink(below("t/%.2s/%s/content", id, id)), 0);
	ck_assert_int_eq(mkfifo(below("t/%.2s/%s/content", id, id), 0600), 0);
	ck_assert_int_eq(blob_open(&store, "t", id, &b, &fd, &err), -1);
	ck_assert_int_eq(err.code, ERR_NOT_FOUND);
	ck_assert_int_eq(unlink(below("t/%.2s/%s/meta.json", id, id)), 0);
	ck_assert_int_eq(mkfifo(below("t/%.2s/%s/meta.json", id, id), 0600), 0);
	ck_assert_int_eq(blob_stat(&store, "t", id, &b, &err), -1);
	ck_assert_int_eq(err.code, ERR_NOT_FOUND);
}
END_TEST

/* Both ways of opening, on the same paths. */
START_TEST(opens_beneath)
{
	int (*const ways[])(int, const char *, int, mode_t) = { beneath_open, beneath_walk };
	static const char *const good[] = { "usage", "t/usage", "t/tmp", "t" };
	static const char *const bad[] = { "..",	  "../outside", "t/../..",   "t/../../x",
					   "/etc/passwd", "",		"link",	     "link/usage",
					   "t/link",	  "t/link/x",	"dir/usage", "usage/x",
					   "none",	  "none/x" };

	ck_assert_int_eq(symlink(out("usage"), below("link")), 0);
	ck_assert_int_eq(symlink("usage", below("t/link")), 0);
	ck_assert_int_eq(symlink("t", below("dir")), 0);
	for (size_t w = 0; w < ARRAY_SIZE(ways); w++) {
		for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
			int fd = ways[w](store.fd, good[i], O_RDONLY, 0);

			ck_assert_msg(fd >= 0, "way %zu, %s: %s", w, good[i], strerror(errno));
			ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
			close(fd);
		}
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			ck_assert_msg(ways[w](store.fd, bad[i], O_RDONLY, 0) < 0, "way %zu, %s", w,
				      bad[i]);
			ck_assert_msg(ways[w](store.fd, bad[i], O_RDONLY | O_DIRECTORY, 0) < 0,
				      "way %zu, %s", w, bad[i]);
		}
		ck_assert_int_lt(ways[w](store.fd, "t/link", O_RDWR | O_CREAT, 0600), 0);
	}
	check_untouched("beneath");
}
END_TEST

Suite *suite_store_links(void)
{
	Suite *s = suite_create("store/links");
	TCase *t = tcase_create("links");

	tcase_add_checked_fixture(t, links_setup, links_teardown);
	tcase_add_loop_test(t, follows_no_link, 0, 8);
	tcase_add_test(t, writes_through_no_link);
	tcase_add_test(t, sweeps_through_no_link);
	tcase_add_test(t, hangs_on_no_fifo);
	tcase_add_test(t, opens_beneath);
	suite_add_tcase(s, t);
	return s;
}
