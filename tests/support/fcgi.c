/*
 * FastCGI 1.0 responder client over a Unix socket: BEGIN_REQUEST, PARAMS, STDIN out; STDOUT,
 * STDERR, END_REQUEST in. Reads while it writes, so that a service which answers before it has the
 * whole body can't lock it up.
 */
#include "support/fcgi.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "support/answer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BEGIN_REQUEST = 1, END_REQUEST = 3, PARAMS = 4, STDIN = 5, STDOUT = 6 };
#define RECORD_MAX 65528
#define OUT_MAX (64 << 20)

static void add_record(struct strbuf *out, int type, const void *data, size_t len)
{
	const unsigned char head[8] = {
		1, (unsigned char)type, 0, 1, (unsigned char)(len >> 8), (unsigned char)len, 0, 0
	};
	strbuf_add(out, head, sizeof(head));
	strbuf_add(out, data, len);
}

static void add_stream(struct strbuf *out, int type, const char *data, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t n = MIN(len - at, (size_t)RECORD_MAX);
		add_record(out, type, data + at, n);
		at += n;
	}
}

static void add_length(struct strbuf *out, size_t n)
{
	if (n > 127) {
		strbuf_addch(out, (char)(0x80 | n >> 24));
		strbuf_addch(out, (char)(n >> 16));
		strbuf_addch(out, (char)(n >> 8));
	}
	strbuf_addch(out, (char)n);
}

static void add_param(struct strbuf *out, const char *name, const char *value)
{
	size_t nlen = strlen(name), vlen = strlen(value);
	add_length(out, nlen);
	add_length(out, vlen);
	strbuf_add(out, name, nlen);
	strbuf_add(out, value, vlen);
}

static void add_params(struct strbuf *out, const struct fcgi_request *r)
{
	AUTO(strbuf) p = STRBUF(1 << 20);
	char path[4200], length[24];
	size_t plen = strcspn(r->uri, "?");
	snprintf(path, sizeof(path), "%.*s", (int)plen, r->uri);
	snprintf(length, sizeof(length), "%zu", r->len);
	const char *type = r->type ? r->type : r->body ? "application/json" : "";
	add_param(&p, "GATEWAY_INTERFACE", "CGI/1.1");
	add_param(&p, "SERVER_PROTOCOL", "HTTP/1.1");
	add_param(&p, "REQUEST_METHOD", r->method ? r->method : r->body ? "POST" : "GET");
	add_param(&p, "REQUEST_URI", r->uri);
	add_param(&p, "DOCUMENT_URI", path);
	add_param(&p, "SCRIPT_NAME", path);
	add_param(&p, "QUERY_STRING", r->uri[plen] ? r->uri + plen + 1 : "");
	add_param(&p, "CONTENT_TYPE", type);
	add_param(&p, "CONTENT_LENGTH", r->length ? r->length : r->body ? length : "");
	add_param(&p, "REMOTE_ADDR", "127.0.0.1");
	for (size_t i = 0; r->params && r->params[i] && r->params[i + 1]; i += 2)
		add_param(&p, r->params[i], r->params[i + 1]);
	add_stream(out, PARAMS, p.buf, p.len);
	add_record(out, PARAMS, "", 0);
}

/* Decodes whole records of `in`. */
static void decode(struct fcgi *f)
{
	size_t at = 0;
	while (f->in.len - at >= 8) {
		const unsigned char *h = (const unsigned char *)f->in.buf + at;
		size_t len = (size_t)h[4] << 8 | h[5], whole = 8 + len + h[6];
		if (f->in.len - at < whole)
			break;
		if (h[1] == STDOUT)
			strbuf_add(&f->text, h + 8, len);
		f->ended |= h[1] == END_REQUEST;
		at += whole;
	}
	strbuf_drop(&f->in, at);
}

/* One round of non-blocking work; false when there is nothing left to wait for. */
static bool pump(struct fcgi *f)
{
	char buf[65536];
	while (f->sent < f->out.len) {
		ssize_t n = send(f->fd, f->out.buf + f->sent, f->out.len - f->sent, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			break;
		/* A service that has its answer ready needn't read the rest: that is read below. */
		f->sent = n < 0 ? f->out.len : f->sent + (size_t)n;
	}
	for (;;) {
		ssize_t n = recv(f->fd, buf, sizeof(buf), 0);
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0)
			return false;
		strbuf_add(&f->in, buf, (size_t)n);
		decode(f);
	}
}

void fcgi_start(struct fcgi *f, const char *socket_path, const struct fcgi_request *r)
{
	struct err err = ERR_INIT;
	*f = (struct fcgi){ .start_ms = clock_ms(), .fd = -1 };
	strbuf_init(&f->out, OUT_MAX);
	strbuf_init(&f->in, ANSWER_MAX);
	strbuf_init(&f->text, ANSWER_MAX);
	f->fd = io_unix_connect(socket_path, SOCK_STREAM, clock_ms() + 10000, &err);
	if (f->fd < 0)
		return;
	(void)io_set_nonblock(f->fd, true);
	add_record(&f->out, BEGIN_REQUEST, "\0\1\0\0\0\0\0\0", 8);
	add_params(&f->out, r);
	add_stream(&f->out, STDIN, r->body ? r->body : "", r->body ? r->len : 0);
	if (!r->open)
		add_record(&f->out, STDIN, "", 0);
	(void)pump(f);
}

bool fcgi_done(struct fcgi *f)
{
	return f->fd < 0 || !pump(f) || f->ended;
}

void fcgi_drop(struct fcgi *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	strbuf_clear(&f->out);
	strbuf_clear(&f->in);
	strbuf_clear(&f->text);
}

void fcgi_finish(struct fcgi *f, struct answer *out, int ms)
{
	int64_t end = clock_ms() + ms;
	bool cannot = f->fd < 0, late = false;
	while (!fcgi_done(f) && !late) {
		short events = (short)(POLLIN | (f->sent < f->out.len ? POLLOUT : 0));
		(void)poll(&(struct pollfd){ .fd = f->fd, .events = events }, 1, clock_left(end));
		late = clock_ms() >= end;
	}
	answer_parse(out, f->text.buf, f->text.len);
	out->ms = clock_ms() - f->start_ms;
	if (cannot || late || !f->ended)
		snprintf(out->problem, sizeof(out->problem), "%s",
			 cannot ? "no connection"
			 : late ? "no end in time"
				: "cut before END_REQUEST");
	if (cannot || late || !f->ended)
		out->status = 0;
	fcgi_drop(f);
}

void fcgi_call(const char *socket_path, const struct fcgi_request *r, struct answer *out, int ms)
{
	struct fcgi f;
	fcgi_start(&f, socket_path, r);
	fcgi_finish(&f, out, ms);
}
