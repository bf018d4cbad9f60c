/*
 * make bench: 100 MB uploaded through nginx into the store, and the same body taken by a plain
 * nginx into a file on the same file system with a `cp` of that file after it, in turn and in one
 * run. That is the floor, as the service needs the body twice as well: nginx takes it in whole
 * before a worker is kept busy by it, and the worker makes the stored file of it.
 *
 * The plain nginx does it by a PUT of ngx_http_dav_module: the body goes through the code that
 * takes in every body, into a temporary file, which is renamed; the answer comes after that. Once
 * as nginx comes, and once with the buffer that nginx/ sets, which is part of what is measured.
 *
 * upload URL_OF_FILES URL_OF_PUT FOLDER_OF_PUT ROUNDS (below the last two: default/, buffer/)
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/strbuf.h"
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
#define CALL_MS 120000
#define UPLOAD_ROUNDS_MAX 10	  /* a few seconds each on a slow disk */
#define CLIENT_BYTES (512L << 10) /* the client shall cost both sides as little as it can */
#define BOUNDARY "----belljar-bench-0bda4ad1f2"

struct call {
	const char *method, *url, *type;
	const struct strbuf *body; /* NULL: none */
};

extern char **environ;

NORETURN static void fail(const char *what, const char *detail)
{
	fprintf(stderr, "upload: %s: %.300s\n", what, detail);
	exit(1);
}

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
				fail("random bytes", "there are none");
		sha256_add(&hash, piece, len);
		strbuf_add(body, piece, len);
		left -= len;
	}
	strbuf_addstr(body, "\r\n--" BOUNDARY "--\r\n");
	sha256_hex(&hash, sum);
}

static size_t keep(char *data, size_t size, size_t count, void *arg)
{
	strbuf_add(arg, data, size * count);
	return size * count;
}

static void set_options(CURL *c, const struct call *call, struct strbuf *out)
{
	curl_easy_setopt(c, CURLOPT_URL, call->url);
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)CALL_MS);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, out);
	if (call->body) {
		curl_easy_setopt(c, CURLOPT_UPLOAD_BUFFERSIZE, CLIENT_BYTES);
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, call->body->buf);
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body->len);
	}
	curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, call->method);
}

static long call(const struct call *call, struct strbuf *out)
{
	CURL *c = curl_easy_init();
	struct curl_slist *head = curl_slist_append(NULL, "Expect:");
	long status = 0;

	if (call->type)
		head = curl_slist_append(head, call->type);
	set_options(c, call, out);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, head);
	CURLcode rc = curl_easy_perform(c);
	if (rc != CURLE_OK)
		fail(call->url, curl_easy_strerror(rc));
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	curl_slist_free_all(head);
	curl_easy_cleanup(c);
	return status;
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
		fail("no upload", text->buf);
	snprintf(out_url, max, "%s/%s", url, text_of(answer, "file_id"));
}

static void ours(const char *url, const struct strbuf *body, const char *sum, struct series *s)
{
	AUTO(strbuf) answer = STRBUF(1 << 20);
	AUTO(strbuf) nothing = STRBUF(1 << 20);
	char stored[1024];
	const struct call post = { "POST", url,
				   "Content-Type: multipart/form-data; boundary=" BOUNDARY, body };
	int64_t start = clock_us();
	long status = call(&post, &answer);

	series_add(s, clock_us() - start);
	check_answer(&answer, status, sum, stored, sizeof(stored), url);
	if (call(&(struct call){ "DELETE", stored, NULL, NULL }, &nothing) != 204)
		fail("DELETE", nothing.buf);
}

static void copy(const char *from, const char *to)
{
	char *const argv[] = { (char *)"cp", (char *)from, (char *)to, NULL };
	int status = -1;
	pid_t pid;

	if (posix_spawnp(&pid, "cp", NULL, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		fail("cp", from);
}

static void want_size(const char *path, size_t size)
{
	struct stat st;

	if (stat(path, &st) < 0 || (size_t)st.st_size != size)
		fail("not the whole body", path);
}

/* One way of the plain nginx to take a body: its times, whole and in two. */
struct floor {
	const char *name; /* below the URL, and below the folder */
	struct series whole, put, cp;
};

static void plain(struct floor *f, char **argv, const struct strbuf *body)
{
	AUTO(strbuf) answer = STRBUF(1 << 20);
	AUTO_FREE char *url = xasprintf("%s/%s/body", argv[2], f->name);
	AUTO_FREE char *file = xasprintf("%s/%s/body", argv[3], f->name);
	AUTO_FREE char *second = xasprintf("%s.copy", file);
	const struct call request = { "PUT", url, "Content-Type: application/octet-stream", body };
	int64_t start = clock_us(), between;
	long status = call(&request, &answer);

	between = clock_us();
	if (status != 201)
		fail(url, answer.buf);
	copy(file, second);
	int64_t end = clock_us();

	series_add(&f->whole, end - start);
	series_add(&f->put, between - start);
	series_add(&f->cp, end - between);
	want_size(file, body->len);
	want_size(second, body->len);
	if (unlink(file) < 0 || unlink(second) < 0)
		fail("cannot remove", file);
}

static void print(struct floor *fresh, struct floor *same, struct series *upload)
{
	static struct series all[5];

	fresh->whole.name = "plain nginx, 100 MB into a file, then cp";
	upload->name = "belljar, upload of 100 MB";
	same->whole.name = "plain nginx with our buffer, then cp";
	same->put.name = "of it: nginx";
	same->cp.name = "of it: cp";
	all[0] = fresh->whole;
	all[1] = *upload;
	all[2] = same->whole;
	all[3] = same->put;
	all[4] = same->cp;
	series_print(all, ARRAY_SIZE(all));
}

int main(int argc, char **argv)
{
	static struct floor fresh = { .name = "default" }, same = { .name = "buffer" };
	static struct series upload;
	AUTO(strbuf) body = STRBUF(FILE_BYTES + 1024);
	char sum[SHA256_HEX];
	int64_t rounds;

	if (argc != 5 || !num_int(argv[4], 1, ROUNDS_MAX, &rounds)) {
		fprintf(stderr,
			"usage: upload URL_OF_FILES URL_OF_PUT FOLDER_OF_PUT ROUNDS(1 to %d)\n",
			ROUNDS_MAX);
		return 64;
	}
	rounds = MIN(rounds, UPLOAD_ROUNDS_MAX);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	make_body(&body, sum);
	for (int64_t i = 0; i <= rounds; i++) {
		plain(&fresh, argv, &body);
		ours(argv[1], &body, sum, &upload);
		plain(&same, argv, &body);
		if (i == 0) /* the first of each fills caches */
			fresh.whole.count = upload.count = same.whole.count = same.put.count =
				same.cp.count = 0;
	}
	print(&fresh, &same, &upload);
	return 0;
}
