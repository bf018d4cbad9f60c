/*
 * Files of a job: given inline, returned inline, what counts as new or changed, what is left out
 * and why.
 */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "suites.h"
#include "support/answer.h"
#include "support/service.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct service svc;

static void setup(void)
{
	service_up(&svc,
		   (const char *const[]){ "MAX_OUTPUT_FILES=8", "MAX_OUTPUT_FILES_MB=16", NULL });
}

static void teardown(void)
{
	service_clear(&svc);
}

/* The returned file at path, as it is stored; ends the test when it isn't there. */
static char *file_text(const struct answer *a, const char *path)
{
	struct json_object *row = answer_find(a, "files", "path", path);
	AUTO(strbuf) text = STRBUF(ANSWER_MAX);
	if (!row)
		answer_fail(a, __FILE__, __LINE__, "no file %s", path);
	const char *id = json_object_get_string(answer_json_get(row, "file_id"));
	if (!id || !service_stored(&svc, id, &text))
		answer_fail(a, __FILE__, __LINE__, "%s isn't in the store", path);
	if (json_object_get_int64(answer_json_get(row, "size_bytes")) != (int64_t)text.len)
		answer_fail(a, __FILE__, __LINE__, "size_bytes of %s isn't its size", path);
	return xstrndup(text.buf, text.len);
}

static void want_file(const struct answer *a, const char *path, const char *want)
{
	AUTO_FREE char *text = file_text(a, path);
	if (strcmp(text, want) != 0)
		answer_fail(a, __FILE__, __LINE__, "%s holds \"%s\"", path, text);
}

static void want_files(const struct answer *a, size_t count)
{
	if (json_object_array_length(answer_get(a, "files")) != count)
		answer_fail(a, __FILE__, __LINE__, "files are not %zu", count);
}

static void want_skipped(const struct answer *a, const char *path)
{
	struct json_object *row = answer_find(a, "skipped", "path", path);
	if (!row || !json_object_get_string_len(answer_json_get(row, "reason")))
		answer_fail(a, __FILE__, __LINE__, "%s is not in skipped with a reason", path);
}

/* No returned file holds lines of /etc/passwd. */
static void want_nothing_of_the_image(const struct answer *a)
{
	size_t count = json_object_array_length(answer_get(a, "files"));
	for (size_t i = 0; i < count; i++) {
		struct json_object *row = json_object_array_get_idx(answer_get(a, "files"), i);
		AUTO_FREE char *text =
			file_text(a, json_object_get_string(answer_json_get(row, "path")));
		if (strstr(text, "root:x"))
			answer_fail(a, __FILE__, __LINE__, "a file of the image came back");
	}
}

#define UNICODE_NAME "Relev\xc3\xa9 \xe2\x80\x93 \xc3\xa9t\xc3\xa9 (v1).csv"

START_TEST(inline_files_go_in)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(
		&svc,
		"for p in ('" UNICODE_NAME "', 'd/e/b.bin', '-x', 'empty', 'dup'):\n"
		"    print(repr(open(p, 'rb').read()))\n",
		"\"files\":[{\"path\":\"" UNICODE_NAME "\",\"content\":\"a,b\\n1,\\u00e9\\n\"},"
		"{\"path\":\"./d//e/"
		"b.bin\",\"content_base64\":\"AP8K\"},{\"path\":\"-x\",\"content\":\"y\"},"
		"{\"path\":\"empty\",\"content\":\"\"},{\"path\":\"dup\",\"content\":\"1\"},"
		"{\"path\":\"dup\",\"content\":\"2\"}]",
		&a);
	WANT_STR(&a, "stderr", "");
	WANT_STR(&a, "stdout", "b'a,b\\n1,\\xc3\\xa9\\n'\nb'\\x00\\xff\\n'\nb'y'\nb''\nb'2'\n");
	want_files(&a, 0);
}
END_TEST

static const char *const bad_paths[] = { "../x", "/etc/x",    "a/../../x", "..",       "",
					 ".",	 "a\\u0000b", "a/../b",	   "a\\u0007", "a\\nb" };

START_TEST(bad_paths_are_refused)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *more =
		xasprintf("\"files\":[{\"path\":\"%s\",\"content\":\"x\"}]", bad_paths[_i]);
	service_try(&svc, "print(1)", more, &a);
	WANT_STATUS(&a, 422);
	WANT(&a, strstr(a.body.buf, "path") != NULL);
}
END_TEST

static const char *const bad_files[] = {
	"[{\"path\":\"a\"}]",
	"[{\"path\":\"a\",\"content\":\"x\",\"content_base64\":\"eA==\"}]",
	"[{\"path\":\"a\",\"content_base64\":\"e\"}]",
	"[{\"path\":\"a\",\"content_base64\":\"eA==\\n\"}]",
	"[{\"content\":\"a\"}]",
	"[{\"path\":1,\"content\":\"a\"}]",
	"[{\"path\":\"a\",\"content\":1}]",
	"[\"a\"]",
	"[null]",
	"{}",
	"[{\"path\":\"a\",\"content\":\"x\"},{\"path\":\"a/b\",\"content\":\"x\"}]",
};

START_TEST(bad_files_are_refused)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *more = xasprintf("\"files\":%s", bad_files[_i]);
	service_try(&svc, "print(1)", more, &a);
	WANT_STATUS(&a, 422);
	WANT(&a, strcasestr(answer_str(&a, "error.message"), "file") != NULL);
}
END_TEST

START_TEST(a_file_called_main_py)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "import main\nprint(main.x, __name__)",
			"\"files\":[{\"path\":\"main.py\",\"content\":\"x = 7\"}]", &a);
	WANT_STR(&a, "stdout", "7 __main__\n");
	want_files(&a, 0);
}
END_TEST

START_TEST(new_and_changed_files_come_back)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(
		&svc,
		"import os\n"
		"open('new.txt', 'w').write('n\xc3\xa9w')\n"
		"os.makedirs('out/deep/er')\n"
		"open('out/deep/er/x', 'wb').write(b'\\xff')\n"
		"open('empty', 'w')\n"
		"open('changed', 'w').write('B')\n"
		"open('same', 'w').write('A')\n"
		"os.remove('deleted')\n"
		"open('/tmp/not', 'w').write('x')\n",
		"\"files\":[{\"path\":\"changed\",\"content\":\"A\"},{\"path\":\"same\","
		"\"content\":\"A\"},"
		"{\"path\":\"kept\",\"content\":\"A\"},{\"path\":\"deleted\",\"content\":\"A\"}],"
		"\"last_line_interactive\":false",
		&a);
	WANT_STR(&a, "stderr", "");
	want_file(&a, "new.txt", "n\xc3\xa9w");
	want_file(&a, "changed", "B");
	want_file(&a, "empty", "");
	want_file(&a, "out/deep/er/x", "\xff");
	want_files(&a, 4);
	WANT(&a, json_object_array_length(answer_get(&a, "skipped")) == 0);
}
END_TEST

START_TEST(a_file_has_its_facts)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "open('r.txt', 'w').write('abc')", NULL, &a);
	WANT_STR(&a, "files.0.path", "r.txt");
	WANT_STR(&a, "files.0.kind", "file");
	WANT_INT(&a, "files.0.size_bytes", 3);
	WANT_STR(&a, "files.0.mime_type", "text/plain");
	WANT_STR(&a, "files.0.sha256",
		 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	WANT(&a,
	     answer_str(&a, "files.0.file_id") && strlen(answer_str(&a, "files.0.file_id")) == 36);
	want_file(&a, "r.txt", "abc");
}
END_TEST

START_TEST(files_survive_a_timeout_and_a_crash)
{
	static const char *const ends[] = { "import time; time.sleep(60)", "import os; os.abort()",
					    "1/0" };
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *code =
		xasprintf("f = open('part', 'w')\nf.write('so far')\nf.close()\n%s\n", ends[_i]);
	service_execute(&svc, code, "\"timeout_ms\":1500", &a);
	WANT(&a, strcmp(answer_str(&a, "status"), "ok") != 0);
	want_file(&a, "part", "so far");
}
END_TEST

/* C12 */
START_TEST(links_and_odd_files)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc,
			"import os, socket\n"
			"os.symlink('/etc/passwd', 'report.txt')\n"
			"os.symlink('../../../../etc', 'dir')\n"
			"os.mkfifo('pipe')\n"
			"s = socket.socket(socket.AF_UNIX); s.bind('sock')\n"
			"f = open('real.txt', 'w'); f.write('ok'); f.close()\n"
			"os.link('real.txt', 'hard.txt')\n",
			NULL, &a);
	WANT_STR(&a, "stderr", "");
	want_file(&a, "real.txt", "ok");
	want_skipped(&a, "report.txt");
	want_skipped(&a, "dir");
	want_skipped(&a, "pipe");
	want_skipped(&a, "sock");
	if (answer_find(&a, "files", "path", "hard.txt"))
		want_file(&a, "hard.txt", "ok");
	else
		want_skipped(&a, "hard.txt");
	want_nothing_of_the_image(&a);
}
END_TEST

START_TEST(swapped_folders_lead_nowhere)
{
	AUTO(answer) a = ANSWER_INIT;
	/* A child that goes on after the program's end tries to change a folder for a link while
	 * files are collected. */
	service_execute(&svc,
			"import os\n"
			"os.mkdir('d'); open('d/passwd', 'w').write('mine')\n"
			"os.symlink('/etc', 'l')\n"
			"if os.fork() == 0:\n"
			"    os.setsid()\n"
			"    for fd in range(3): os.close(fd)\n"
			"    while True:\n"
			"        os.rename('d', 'x'); os.rename('l', 'd'); os.rename('d', 'l'); "
			"os.rename('x', 'd')\n",
			"\"timeout_ms\":5000", &a);
	want_nothing_of_the_image(&a);
	WANT_INT(&a, "exit_code", 0);
}
END_TEST

START_TEST(too_many_files)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc, "for i in range(100): open(f'f{i:03}', 'w').write(str(i))", NULL, &a);
	WANT_STR(&a, "status", "ok");
	want_files(&a, 8);
	size_t skipped = json_object_array_length(answer_get(&a, "skipped"));
	WANT(&a, skipped >= 1 && skipped <= 100);
}
END_TEST

START_TEST(too_large_files)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc,
			"open('big', 'wb').write(b'\\0' * (40 << 20))\n"
			"open('small', 'w').write('s')\n",
			"\"last_line_interactive\":false", &a);
	WANT_STR(&a, "status", "ok");
	want_file(&a, "small", "s");
	want_skipped(&a, "big");
}
END_TEST

START_TEST(names_that_are_not_utf8)
{
	AUTO(answer) a = ANSWER_INIT;
	service_execute(&svc,
			"open(b'bad\\xff', 'w').write('x')\nopen('new\\nline', 'w').write('x')\n"
			"open('fine', 'w').write('x')\nopen('q\"<&\\\\', 'w').write('x')\n",
			"\"last_line_interactive\":false", &a);
	WANT_STR(&a, "stderr", "");
	want_file(&a, "fine", "x");
	want_file(&a, "q\"<&\\", "x");
	WANT(&a, json_object_array_length(answer_get(&a, "files")) +
				 json_object_array_length(answer_get(&a, "skipped")) ==
			 4);
}
END_TEST

START_TEST(a_megabyte_each_way)
{
	AUTO(strbuf) more = STRBUF(8 << 20);
	AUTO(answer) a = ANSWER_INIT;
	strbuf_addstr(&more, "\"files\":[{\"path\":\"in\",\"content\":\"");
	for (int i = 0; i < 65536; i++)
		strbuf_addstr(&more, "0123456789abcdef");
	strbuf_addstr(&more, "\"}]");
	service_execute(&svc, "open('out', 'w').write(open('in').read()[::-1])", more.buf, &a);
	AUTO_FREE char *text = file_text(&a, "out");
	ck_assert_uint_eq(strlen(text), 1 << 20);
	ck_assert(strncmp(text, "fedcba9876543210fedc", 20) == 0);
}
END_TEST

Suite *suite_files(void)
{
	Suite *s = suite_create("files");
	TCase *tc = tcase_create("files");
	tcase_set_timeout(tc, 240);
	tcase_add_unchecked_fixture(tc, setup, teardown);
	tcase_add_test(tc, inline_files_go_in);
	tcase_add_loop_test(tc, bad_paths_are_refused, 0, (int)ARRAY_SIZE(bad_paths));
	tcase_add_loop_test(tc, bad_files_are_refused, 0, (int)ARRAY_SIZE(bad_files));
	tcase_add_test(tc, a_file_called_main_py);
	tcase_add_test(tc, new_and_changed_files_come_back);
	tcase_add_test(tc, a_file_has_its_facts);
	tcase_add_loop_test(tc, files_survive_a_timeout_and_a_crash, 0, 3);
	tcase_add_test(tc, links_and_odd_files);
	tcase_add_test(tc, swapped_folders_lead_nowhere);
	tcase_add_test(tc, too_many_files);
	tcase_add_test(tc, too_large_files);
	tcase_add_test(tc, names_that_are_not_utf8);
	tcase_add_test(tc, a_megabyte_each_way);
	suite_add_tcase(s, tc);
	return s;
}
