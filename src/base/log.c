/*
 * Log lines on stderr, one write() each, so that lines of several processes don't mix. Only proc/
 * and main.c call it; the layers below return errors instead. Values come from clients and
 * containers, so every line is escaped as a whole and bounded.
 */
#include "base/log.h"

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define LOG_LINE 2048	 /* with its newline; under PIPE_BUF, so a pipe takes it whole */
#define LOG_MESSAGE 1200 /* of it, leaving room for the head and some fields */

static struct {
	enum log_level level;
	bool json;
	const char *role;
	char request_id[65];
} state = { .level = LOG_LEVEL_INFO, .role = "main" };

static const char *const level_names[] = { "error", "warn", "info", "debug" };

void log_setup(enum log_level level, bool json)
{
	state.level = level;
	state.json = json;
}

void log_role(const char *role)
{
	state.role = role;
}

void log_request_id(const char *id)
{
	snprintf(state.request_id, sizeof(state.request_id), "%s", id ? id : "");
}

/* Appends one character (n bytes of valid UTF-8) so that it can neither end a string nor a line nor
 * steer a terminal. */
static void add_escaped(struct strbuf *sb, const unsigned char *c, size_t n)
{
	if (c[0] == '"' || c[0] == '\\')
		strbuf_addf(sb, "\\%c", c[0]);
	else if (c[0] == '\n')
		strbuf_addstr(sb, "\\n");
	else if (c[0] < 0x20 || c[0] == 0x7f)
		strbuf_addf(sb, "\\u%04x", c[0]);
	else if (n == 2 && c[0] == 0xc2 && c[1] < 0xa0)
		strbuf_addf(sb, "\\u%04x", c[1]);
	else
		strbuf_add(sb, c, n);
}

static size_t char_len(unsigned char lead)
{
	return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* Text escaped and, when longer than what is left for it, ended with "...". */
static void add_text(struct strbuf *out, const char *text, size_t max)
{
	AUTO(strbuf) plain = STRBUF(4 * LOG_LINE);
	AUTO(strbuf) part = STRBUF(max > 3 ? max - 3 : 0);
	size_t len = strnlen(text, LOG_LINE);

	utf8_scrub(&plain, text, utf8_cut(text, len, len), true);
	for (size_t i = 0; i < plain.len && strbuf_ok(&part);) {
		size_t n = char_len((unsigned char)plain.buf[i]);

		add_escaped(&part, (unsigned char *)plain.buf + i, n);
		i += n;
	}
	strbuf_add(out, part.buf, part.len);
	if (!strbuf_ok(&part) || len == LOG_LINE)
		strbuf_addstr(out, "...");
}

static void add_head(struct strbuf *out, enum log_level level)
{
	char when[CLOCK_TEXT];

	clock_rfc3339(clock_wall_ms(), when);
	if (!state.json) {
		strbuf_addf(out, "%s %s %s[%d] ", when, level_names[level], state.role,
			    (int)getpid());
		add_text(out, state.request_id[0] ? state.request_id : "-", 200);
		strbuf_addch(out, ' ');
		return;
	}
	strbuf_addf(out, "{\"timestamp\":\"%s\",\"level\":\"%s\",\"logger\":\"%s\",\"pid\":%d",
		    when, level_names[level], state.role, (int)getpid());
	if (state.request_id[0]) {
		strbuf_addstr(out, ",\"request_id\":\"");
		add_text(out, state.request_id, 200);
		strbuf_addch(out, '"');
	}
	strbuf_addstr(out, ",\"message\":\"");
}

/* A plain value is quoted when it would not read as one word. */
static void add_field(struct strbuf *out, const struct log_field *f)
{
	AUTO(strbuf) one = STRBUF(LOG_LINE);
	const char *quote =
		state.json || (f->text && (!f->text[0] || strpbrk(f->text, " =\"\\"))) ? "\"" : "";

	strbuf_addf(&one, state.json ? ",\"%s\":" : " %s=", f->name);
	if (f->text) {
		strbuf_addstr(&one, quote);
		add_text(&one, f->text, 512);
		strbuf_addstr(&one, quote);
	} else {
		strbuf_addf(&one, "%lld", (long long)f->number);
	}
	/* Whole or not at all, and always with room for what ends the line. */
	if (strbuf_ok(&one) && one.len + 2 <= strbuf_room(out))
		strbuf_add(out, one.buf, one.len);
}

static void write_line(enum log_level level, const char *message, const struct log_field *fields,
		       size_t count)
{
	AUTO(strbuf) line = STRBUF(LOG_LINE);

	add_head(&line, level);
	add_text(&line, message, LOG_MESSAGE);
	if (state.json)
		strbuf_addch(&line, '"');
	for (size_t i = 0; i < count; i++)
		add_field(&line, &fields[i]);
	strbuf_addstr(&line, state.json ? "}\n" : "\n");
	/* A log that can't be written has nowhere to complain. */
	if (write(STDERR_FILENO, line.buf, line.len) < 0)
		return;
}

static void log_formatted(enum log_level level, const char *fmt, va_list ap)
{
	char message[LOG_LINE];

	if (level > state.level)
		return;
	vsnprintf(message, sizeof(message), fmt, ap);
	write_line(level, message, NULL, 0);
}

void log_err(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_formatted(LOG_LEVEL_ERROR, fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_formatted(LOG_LEVEL_WARN, fmt, ap);
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_formatted(LOG_LEVEL_INFO, fmt, ap);
	va_end(ap);
}

void log_debug(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_formatted(LOG_LEVEL_DEBUG, fmt, ap);
	va_end(ap);
}

void log_fields(const char *message, const struct log_field *fields, size_t count)
{
	if (state.level >= LOG_LEVEL_INFO)
		write_line(LOG_LEVEL_INFO, message, fields, count);
}
