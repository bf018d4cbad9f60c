/*
 * make bench: 100 MB uploaded through nginx into the store, and the same body taken by a plain
 * nginx into a file on the same file system with a `cp` of that file after it, in turn and in one
 * run. That is the floor, as the service needs the body twice as well: nginx takes it in whole
 * before a worker is kept busy by it, and the worker makes the stored file of it.
 *
 * The plain nginx does it by a PUT of ngx_http_dav_module: the body goes through the code that
 * takes in every body, into a temporary file, which is renamed; the answer comes after that. Once
 * as nginx comes, and once with the buffer that nginx/ sets, which is part of what is measured.
 * Then downloads of such a file from both.
 *
 * transfer URL_OF_FILES URL_OF_PUT FOLDER_OF_PUT ROUNDS (below the last two: default/, buffer/)
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "bench/client.h"
#include "bench/series.h"
#include "wire/json.h"
#include "wire/sha256.h"

#include <curl/curl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_BYTES 100000000
#define TRANSFER_ROUNDS_MAX 10 /* a few seconds each on a slow disk */
#define BOUNDARY "----belljar-bench-0bda4ad1f2"

extern char **environ;

/* A form with one file of random bytes: what no file system and no proxy makes smaller. */
static void make_body(struct strbuf *body, char *sum)
{
	uint8_t piece[64 << 10];
	struct sha256 hash;

	sha256_init(&hash);
	strbuf_addstr(body, "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"file\"; "
			    "filename=\"hundred.bin\"\r\n\r\n");
	for (size_t left = FILE_BYTES; left > 0;) {
		size_t len = MIN(left, sizeof(piece));

		/* Up to 256 bytes come whole, more may be cut short by a signal. */
		for (size_t at = 0; at < len; at += 250)
			if (getrandom(piece + at, MIN(len - at, 250), 0) < 0)
				bench_fail("random bytes", "there are none");
		sha256_add(&hash, piece, len);
		strbuf_add(body, piece, len);
		left -= len;
	}
	strbuf_addstr(body, "\r\n--" BOUNDARY "--\r\n");
	sha256_hex(&hash, sum);
}

static const char *text_of(struct json_object *answer, const char *name)
{
	struct json_object *member;

	return json_object_object_get_ex(answer, name, &member) ? json_object_get_string(member)
								: "";
}

/* The file's id, if the answer is that of a file stored whole: a fast error is no fast upload. */
static void check_answer(const struct strbuf *text, long status, const char *sum, char *out_url,
			 size_t max, const char *url)
{
	AUTO_JSON *answer = json_tokener_parse(text->buf);
	int64_t size;

	if (status != 201 || strcmp(text_of(answer, "sha256"), sum) != 0 ||
	    !num_int(text_of(answer, "size_bytes"), 0, INT64_MAX, &size) || size != FILE_BYTES)
		bench_fail("no upload", text->buf);
	snprintf(out_url, max, "%s/%s", url, text_of(answer, "file_id"));
}

/* One upload; its URL for GET and DELETE. */
static void store(const char *url, const struct strbuf *body, const char *sum, struct series *s,
		  char *out_url, size_t max)
{
	AUTO(strbuf) answer = STRBUF(1 << 20);
	struct client_call post = { .method = "POST",
				    .url = url,
				    .header =
					    "Content-Type: multipart/form-data; boundary=" BOUNDARY,
				    .body = body };
	int64_t start = clock_us();
	long status = client_must(&post, &answer);

	series_add(s, clock_us() - start);
	check_answer(&answer, status, sum, out_url, max, url);
}

static void drop(const char *url)
{
	AUTO(strbuf) nothing = STRBUF(1 << 20);

	if (client_must(&(struct client_call){ .method = "DELETE", .url = url }, &nothing) != 204)
		bench_fail("DELETE", nothing.buf);
}

static void ours(const char *url, const struct strbuf *body, const char *sum, struct series *s)
{
	char stored[1024];

	store(url, body, sum, s, stored, sizeof(stored));
	drop(stored);
}

static void copy(const char *from, const char *to)
{
	char *const argv[] = { (char *)"cp", (char *)from, (char *)to, NULL };
	int status = -1;
	pid_t pid;

	if (posix_spawnp(&pid, "cp", NULL, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		bench_fail("cp", from);
}

static void want_size(const char *path, size_t size)
{
	struct stat st;

	if (stat(path, &st) < 0 || (size_t)st.st_size != size)
		bench_fail("not the whole body", path);
}

/* One way of the plain nginx to take a body: its times, whole and in two. */
struct floor {
	const char *name; /* below the URL, and below the folder */
	struct series whole, put, cp;
};

static void put(const char *url, const struct strbuf *body)
{
	AUTO(strbuf) answer = STRBUF(1 << 20);
	struct client_call call = { .method = "PUT",
				    .url = url,
				    .header = "Content-Type: application/octet-stream",
				    .body = body };

	if (client_must(&call, &answer) != 201)
		bench_fail(url, answer.buf);
}

static void plain(struct floor *f, char **argv, const struct strbuf *body)
{
	AUTO_FREE char *url = xasprintf("%s/%s/body", argv[2], f->name);
	AUTO_FREE char *file = xasprintf("%s/%s/body", argv[3], f->name);
	AUTO_FREE char *second = xasprintf("%s.copy", file);
	int64_t start = clock_us(), between;

	put(url, body);
	between = clock_us();
	copy(file, second);
	int64_t end = clock_us();

	series_add(&f->whole, end - start);
	series_add(&f->put, between - start);
	series_add(&f->cp, end - between);
	want_size(file, body->len);
	want_size(second, body->len);
	if (unlink(file) < 0 || unlink(second) < 0)
		bench_fail("cannot remove", file);
}

static void print_uploads(struct floor *fresh, struct floor *same, struct series *upload)
{
	static struct series all[5];

	fresh->whole.name = "plain nginx, into a file, then cp";
	upload->name = "belljar, upload";
	same->whole.name = "plain nginx with our buffer, then cp";
	same->put.name = "of it: nginx";
	same->cp.name = "of it: cp";
	all[0] = fresh->whole;
	all[1] = *upload;
	all[2] = same->whole;
	all[3] = same->put;
	all[4] = same->cp;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		all[i].mb = FILE_BYTES / 1e6;
	series_print("upload of 100 MB", all, ARRAY_SIZE(all));
}

static void uploads(char **argv, int64_t rounds, const struct strbuf *body, const char *sum)
{
	static struct floor fresh = { .name = "default" }, same = { .name = "buffer" };
	static struct series upload;

	for (int64_t i = 0; i <= rounds; i++) {
		plain(&fresh, argv, body);
		ours(argv[1], body, sum, &upload);
		plain(&same, argv, body);
		if (i == 0) /* the first of each fills caches */
			fresh.whole.count = upload.count = same.whole.count = same.put.count =
				same.cp.count = 0;
	}
	print_uploads(&fresh, &same, &upload);
}

static void get(const char *url, int64_t size, struct series *s)
{
	AUTO(strbuf) nothing = STRBUF(1 << 20);
	struct client_call call = { .method = "GET", .url = url, .discard = true };
	int64_t start = clock_us();
	long status = client_must(&call, &nothing);

	series_add(s, clock_us() - start);
	if (status != 200 || call.received != size)
		bench_fail("not the whole file", url);
}

/* Once, outside of the times: it is the very file. */
static void check_stored(const char *url, const char *sum)
{
	AUTO(strbuf) content = STRBUF(FILE_BYTES + 1024);
	struct client_call call = { .method = "GET", .url = url };
	struct sha256 hash;
	char got[SHA256_HEX];

	sha256_init(&hash);
	if (client_must(&call, &content) != 200)
		bench_fail("no download", content.buf);
	sha256_add(&hash, content.buf, content.len);
	sha256_hex(&hash, got);
	if (strcmp(got, sum) != 0)
		bench_fail("another file than was stored", url);
}

/* The plain nginx gives back the form as it came: its size is the file's but for some bytes. */
static void downloads(char **argv, int64_t rounds, const struct strbuf *body, const char *sum)
{
	static struct series all[] = {
		{ .name = "plain nginx, of a file", .mb = FILE_BYTES / 1e6 },
		{ .name = "belljar, download", .mb = FILE_BYTES / 1e6 },
	};
	static struct series ignored;
	AUTO_FREE char *url = xasprintf("%s/default/body", argv[2]);
	AUTO_FREE char *file = xasprintf("%s/default/body", argv[3]);
	char stored[1024];

	store(argv[1], body, sum, &ignored, stored, sizeof(stored));
	check_stored(stored, sum);
	put(url, body);
	for (int64_t i = 0; i <= rounds; i++) {
		get(url, (int64_t)body->len, &all[0]);
		get(stored, FILE_BYTES, &all[1]);
		if (i == 0)
			all[0].count = all[1].count = 0;
	}
	drop(stored);
	if (unlink(file) < 0)
		bench_fail("cannot remove", file);
	series_print("download of 100 MB", all, ARRAY_SIZE(all));
}

int main(int argc, char **argv)
{
	AUTO(strbuf) body = STRBUF(FILE_BYTES + 1024);
	char sum[SHA256_HEX];
	int64_t rounds;

	if (argc != 5 || !num_int(argv[4], 1, ROUNDS_MAX, &rounds)) {
		fprintf(stderr,
			"usage: transfer URL_OF_FILES URL_OF_PUT FOLDER_OF_PUT ROUNDS(1 to %d)\n",
			ROUNDS_MAX);
		return 64;
	}
	rounds = MIN(rounds, TRANSFER_ROUNDS_MAX);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	make_body(&body, sum);
	uploads(argv, rounds, &body, sum);
	downloads(argv, rounds, &body, sum);
	return 0;
}
