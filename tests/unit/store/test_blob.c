/* Stored files one at a time: what comes back, what is refused, and what a damaged store looks
 * like. */
#include "base/clock.h"
#include "base/err.h"
#include "store/mime.h"
#include "support/tool.h"
#include "unit/store/store_fixture.h"
#include "unit/suites.h"

#include <check.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNKNOWN "3f2b8a54-1c1d-4e3a-9c55-0123456789ab"

START_TEST(stores_and_returns)
{
	AUTO(blob) made = { 0 };
	AUTO(blob) read_back = { 0 };
	AUTO_CLOSE int fd = -1;
	char path[BLOB_PATH_BYTES], text[16] = "";
	int64_t before = clock_wall_ms();
	struct stat st;

	ck_assert_int_eq(put("a b.txt", "abc", 3, &store_rules, &made), 0);
	ck_assert(ident_is_uuid(made.id));
	ck_assert_int_eq(blob_open(&store, "t", made.id, &read_back, &fd, &err), 0);
	ck_assert_str_eq(read_back.id, made.id);
	ck_assert_str_eq(read_back.name, "a b.txt");
	ck_assert_int_eq(read_back.size, 3);
	ck_assert_str_eq(read_back.mime, "text/plain");
	ck_assert_str_eq(read_back.sha256,
			 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	ck_assert_int_ge(read_back.created_ms, before);
	ck_assert_int_le(read_back.created_ms, clock_wall_ms());
	ck_assert_int_eq(read_back.expires_ms, read_back.created_ms + 3600000);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 3);
	ck_assert_str_eq(text, "abc");
	ck_assert_int_eq(blob_path("t", made.id, path, &err), 0);
	ck_assert_int_eq(stat(below("%s", path), &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, STORE_CONTENT_MODE);
	ck_assert_int_eq(stat(below("t/%.2s/%s/meta.json", made.id, made.id), &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, STORE_META_MODE);
	ck_assert_int_eq(stat(below("t/tmp"), &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, STORE_PRIVATE_MODE);
	ck_assert_int_eq(files_on_disk(), 2);
	check_counters();
}
END_TEST

START_TEST(does_not_depend_on_umask)
{
	AUTO(blob) b = { 0 };
	mode_t old = umask(077);
	int r = put("a", "abc", 3, &store_rules, &b);
	struct stat st;

	umask(old);
	ck_assert_msg(r == 0, "%s", err.text);
	ck_assert_int_eq(stat(below("t/%.2s/%s/content", b.id, b.id), &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, STORE_CONTENT_MODE);
	ck_assert_int_eq(stat(below("t/%.2s/%s", b.id, b.id), &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, STORE_DIR_MODE);
}
END_TEST

START_TEST(keeps_names)
{
	char longest[256];
	const char *const names[] = { "Relev\u00e9 \u2013 \u00e9t\u00e9 (v1).csv",
				      " ",
				      "-rf",
				      ".hidden",
				      "...",
				      "a\"b'c",
				      "a\\b",
				      "..\\x",
				      "\U0001f40d",
				      "out/a/x.txt",
				      "C:x",
				      "%2e%2e",
				      longest };

	memset(longest, 'n', 255);
	longest[255] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO(blob) b = { 0 };
		char id[IDENT_UUID];

		put_text(names[i], "x", id);
		ck_assert_int_eq(blob_stat(&store, "t", id, &b, &err), 0);
		ck_assert_str_eq(b.name, names[i]);
	}
}
END_TEST

START_TEST(refuses_names)
{
	char too_long[257];
	const char *const names[] = { "",   ".",   "..",   "../x", "/x",   "a/../x", "a//b",
				      "a/", "./a", "a\nb", "\x7f", "\xff", "a\xc3",  too_long };

	memset(too_long, 'n', 256);
	too_long[256] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ck_assert_msg(put(names[i], "x", 1, &store_rules, NULL) < 0, "%s", names[i]);
		ck_assert_int_eq(err.code, ERR_BAD_NAME);
	}
	ck_assert_int_eq(files_on_disk(), 0);
}
END_TEST

START_TEST(refuses_ids)
{
	static const char *const bad[] = {
		"",
		"a",
		"..",
		"../../etc/passwd",
		"3F2B8A54-1C1D-4E3A-9C55-0123456789AB",
		"3f2b8a54-1c1d-1e3a-9c55-0123456789ab",
		"3f2b8a54-1c1d-4e3a-7c55-0123456789ab",
		"3f2b8a541c1d4e3a9c550123456789ab",
		"{3f2b8a54-1c1d-4e3a-9c55-0123456789ab}",
		"3f2b8a54-1c1d-4e3a-9c55-0123456789abc",
		"3f2b8a54-1c1d-4e3a-9c55-0123456789a",
		" 3f2b8a54-1c1d-4e3a-9c55-0123456789ab",
		"3f2b8a54-1c1d-4e3a-9c55-0123456789ab/",
		"3f2b8a54/1c1d/4e3a/9c55/0123456789ab",
		"%33f2b8a54-1c1d-4e3a-9c55-0123456789",
		"tmp",
		"usage",
	};
	char path[BLOB_PATH_BYTES];
	struct blob b;
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_msg(blob_stat(&store, "t", bad[i], &b, &err) < 0, "%s", bad[i]);
		ck_assert_int_eq(err.code, ERR_BAD_ID);
		ck_assert_int_eq(blob_open(&store, "t", bad[i], &b, &fd, &err), -1);
		ck_assert_int_eq(err.code, ERR_BAD_ID);
		ck_assert_int_eq(blob_delete(&store, "t", bad[i], &err), -1);
		ck_assert_int_eq(err.code, ERR_BAD_ID);
		ck_assert_int_eq(blob_discard(&store, "t", bad[i], &err), -1);
		ck_assert_int_eq(err.code, ERR_BAD_ID);
		ck_assert_int_eq(blob_path("t", bad[i], path, &err), -1);
		ck_assert_int_eq(err.code, ERR_BAD_ID);
	}
}
END_TEST

START_TEST(keeps_tenants_apart)
{
	static const char *const bad[] = { "",	".",   "..",  "a/b",   "-a",	  "_a",
					   "A", "a.b", "a b", "usage", "\xc3\xa9" };
	char id[IDENT_UUID];
	struct blob b;

	put_text("a", "x", id);
	ck_assert_int_eq(blob_stat(&store, "u", id, &b, &err), -1);
	ck_assert_int_eq(err.code, ERR_NOT_FOUND);
	ck_assert_int_eq(blob_delete(&store, "u", id, &err), -1);
	ck_assert_int_eq(err.code, ERR_NOT_FOUND);
	ck_assert_int_eq(blob_stat(&store, "t", UNKNOWN, &b, &err), -1);
	ck_assert_int_eq(err.code, ERR_NOT_FOUND);
	ck_assert_msg(strstr(err.text, "not found"), "%s", err.text);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(!store_tenant_ok(bad[i]), "%s", bad[i]);
	ck_assert(store_tenant_ok("default") && store_tenant_ok("0a-b_c"));
}
END_TEST

START_TEST(bounds_size)
{
	const struct blob_rules ten = { .max_bytes = 10,
					.max_name = "MAX_FILE_SIZE_MB",
					.ttl_ms = 1000 };
	AUTO(blob_write) w = BLOB_WRITE_INIT;
	AUTO(blob) b = { 0 };

	ck_assert_int_eq(put("a", "0123456789", 10, &ten, &b), 0);
	ck_assert_int_eq(put("a", "0123456789a", 11, &ten, NULL), -1);
	ck_assert_int_eq(err.code, ERR_TOO_LARGE);
	ck_assert_msg(strstr(err.text, "exceeds maximum") && strstr(err.text, "MAX_FILE_SIZE_MB") &&
			      strstr(err.text, "10 bytes"),
		      "%s", err.text);
	/* Told at the first byte too many, not at the end. */
	ck_assert_int_eq(blob_write_open(&w, &store, "t", "a", &ten, &err), 0);
	ck_assert_int_eq(blob_write_add(&w, "01234", 5, &err), 0);
	ck_assert_int_eq(blob_write_add(&w, "56789a", 6, &err), -1);
	blob_write_clear(&w);
	ck_assert_int_eq(files_on_disk(), 2);
	check_counters();
}
END_TEST

START_TEST(stores_empty_files)
{
	AUTO(blob) b = { 0 };

	ck_assert_int_eq(put("empty", "", 0, &store_rules, &b), 0);
	ck_assert_int_eq(b.size, 0);
	ck_assert_str_eq(b.sha256,
			 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	ck_assert_str_eq(b.mime, "application/octet-stream");
	ck_assert(same_bytes(b.id, 0, 0));
	check_counters();
}
END_TEST

START_TEST(hashes_and_types_any_cutting)
{
	static const char png[] =
		"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\6\0\0\0\x1f\x15\xc4\x89";
	AUTO(blob) whole = { 0 };

	ck_assert_int_eq(put("x.txt", png, sizeof(png) - 1, &store_rules, &whole), 0);
	ck_assert_str_eq(whole.mime, "image/png");
	for (size_t step = 1; step < 5; step++) {
		AUTO(blob_write) w = BLOB_WRITE_INIT;
		AUTO(blob) b = { 0 };

		ck_assert_int_eq(blob_write_open(&w, &store, "t", "x", &store_rules, &err), 0);
		for (size_t i = 0; i < sizeof(png) - 1; i += step)
			ck_assert_int_eq(
				blob_write_add(&w, png + i, MIN(step, sizeof(png) - 1 - i), &err),
				0);
		ck_assert_int_eq(blob_write_commit(&w, &b, &err), 0);
		ck_assert_str_eq(b.mime, whole.mime);
		ck_assert_str_eq(b.sha256, whole.sha256);
	}
}
END_TEST

START_TEST(refuses_types)
{
	const struct blob_rules no_images = { .max_bytes = 1 << 20,
					      .max_name = "X",
					      .deny = "image/*" };
	const struct blob_rules texts = { .max_bytes = 1 << 20,
					  .max_name = "X",
					  .allow = "text/*" };
	AUTO(blob_write) w = BLOB_WRITE_INIT;
	char gif[LIMIT_MIME_BYTES] = "GIF89a\1\0\1\0\x80\0\0";

	/* A small one at its end, whatever its name says; a large one as soon as its type is known.
	 */
	ck_assert_int_eq(put("a.txt", gif, 40, &no_images, NULL), -1);
	ck_assert_int_eq(err.code, ERR_MEDIA_TYPE);
	ck_assert_msg(strstr(err.text, "image/gif") &&
			      strstr(err.text, "UPLOAD_DENY has 'image/*'"),
		      "%s", err.text);
	ck_assert_int_eq(put("a.txt", gif, 40, &texts, NULL), -1);
	ck_assert_msg(strstr(err.text, "UPLOAD_ALLOW is 'text/*'"), "%s", err.text);
	ck_assert_int_eq(blob_write_open(&w, &store, "t", "a.txt", &no_images, &err), 0);
	ck_assert_int_eq(blob_write_add(&w, gif, sizeof(gif) - 1, &err), 0);
	ck_assert_int_eq(blob_write_add(&w, gif, 1, &err), -1);
	ck_assert_int_eq(err.code, ERR_MEDIA_TYPE);
	blob_write_clear(&w);
	ck_assert_int_eq(put("a.gif", "plain text", 10, &no_images, NULL), 0);
	ck_assert_int_eq(files_on_disk(), 2);
	check_counters();
}
END_TEST

START_TEST(leaves_nothing_uncommitted)
{
	AUTO(blob_write) w = BLOB_WRITE_INIT;
	char block[70000] = "";

	blob_write_clear(&w);
	ck_assert_int_eq(blob_write_open(&w, &store, "t", "a", &store_rules, &err), 0);
	blob_write_clear(&w);
	ck_assert_int_eq(blob_write_open(&w, &store, "t", "a", &store_rules, &err), 0);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(blob_write_add(&w, block, sizeof(block), &err), 0);
	check_counters();
	blob_write_clear(&w);
	ck_assert_int_eq(files_on_disk(), 0);
	ck_assert_int_eq(content_on_disk().files, 0);
	check_counters();
}
END_TEST

START_TEST(settles_before_the_commit)
{
	const struct blob_rules no_images = { .max_bytes = 1 << 20,
					      .max_name = "X",
					      .deny = "image/*" };
	AUTO(blob_write) w = BLOB_WRITE_INIT;
	AUTO(blob) b = { 0 };
	char block[70000] = "text", back[70000];
	struct stat st;

	ck_assert_int_eq(blob_write_open(&w, &store, "t", "a", &no_images, &err), 0);
	ck_assert_int_eq(blob_write_add(&w, block, 10, &err), 0);
	ck_assert_int_eq(blob_write_add(&w, block + 10, sizeof(block) - 10, &err), 0);
	ck_assert_int_eq(fstat(w.fd, &st), 0);
	ck_assert_int_gt(st.st_size, sizeof(block));
	ck_assert_int_eq(blob_write_settle(&w, &err), 0);
	ck_assert_int_eq(blob_write_settle(&w, &err), 0);
	ck_assert_int_eq(fstat(w.fd, &st), 0);
	ck_assert_int_eq(st.st_size, sizeof(block));
	ck_assert_int_eq(pread(w.fd, back, sizeof(back), 0), sizeof(back));
	ck_assert_mem_eq(back, block, sizeof(block));
	check_counters();
	ck_assert_int_eq(blob_write_commit(&w, &b, &err), 0);
	ck_assert_int_eq(b.size, sizeof(block));
	check_counters();
	blob_write_clear(&w);
	/* A small one has shown its type by then. */
	ck_assert_int_eq(blob_write_open(&w, &store, "t", "a", &no_images, &err), 0);
	ck_assert_int_eq(blob_write_add(&w, "GIF89a\1\0\1\0\x80\0\0", 13, &err), 0);
	ck_assert_int_eq(blob_write_settle(&w, &err), -1);
	ck_assert_int_eq(err.code, ERR_MEDIA_TYPE);
	blob_write_clear(&w);
	ck_assert_int_eq(files_on_disk(), 2);
	check_counters();
}
END_TEST

Suite *suite_store_blob(void)
{
	Suite *s = suite_create("store/blob");
	TCase *t = tcase_create("blob");

	tcase_add_checked_fixture(t, store_setup, store_teardown);
	tcase_add_test(t, stores_and_returns);
	tcase_add_test(t, does_not_depend_on_umask);
	tcase_add_test(t, keeps_names);
	tcase_add_test(t, refuses_names);
	tcase_add_test(t, refuses_ids);
	tcase_add_test(t, keeps_tenants_apart);
	tcase_add_test(t, bounds_size);
	tcase_add_test(t, stores_empty_files);
	tcase_add_test(t, hashes_and_types_any_cutting);
	tcase_add_test(t, refuses_types);
	tcase_add_test(t, leaves_nothing_uncommitted);
	tcase_add_test(t, settles_before_the_commit);
	suite_add_tcase(s, t);
	return s;
}
