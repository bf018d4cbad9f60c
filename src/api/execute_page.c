/*
 * The answer of POST /v1/execute as a page: what execute_answer.c says as JSON, for people. Called
 * by execute.c last, for a client that prefers HTML. Every text goes through page_text, and files
 * are linked by their ids; how a job ended is decided in execute_answer.c, not here.
 */
#include "api/execute.h"
#include "api/page.h"
#include "base/err.h"
#include "web/response.h"

#include <string.h>

/* One entry of a list, or one picture, beside its texts. */
#define ITEM_BYTES (PAGE_LINK_BYTES + 256)
/* Headings, verdict, notes and facts. */
#define FIXED_BYTES (PAGE_FRAME_BYTES + 8192)

/* One of the two outputs as it is shown. */
struct page_stream {
	const char *title, *class;
	struct strbuf text;
	uint64_t bytes; /* that the program wrote */
	bool cut;
};

static void add_duration(struct strbuf *out, int64_t ms)
{
	if (ms < 1000)
		strbuf_addf(out, "%lld ms", (long long)ms);
	else
		strbuf_addf(out, "%.2f s", (double)ms / 1000);
}

static int64_t wall_ms(const struct run_result *r)
{
	return r->lost ? r->run_ms : (int64_t)(r->exit.wall_us / 1000);
}

/* The program came to an end of its own: its exit code is the news, and a sentence an addition. */
static void add_exit(const struct execute *ex, struct strbuf *out, bool ok, const char *sentence)
{
	strbuf_addf(out, "<p class=\"verdict %s\" role=\"status\">%s exit %u in ",
		    ok ? "ok" : "bad", ok ? "finished," : "failed:", ex->result.exit.exit_code);
	add_duration(out, wall_ms(&ex->result));
	strbuf_addstr(out, "</p>\n");
	if (!sentence[0])
		return;
	strbuf_addstr(out, "<p class=\"note\">");
	page_str(out, sentence);
	strbuf_addstr(out, "</p>\n");
}

static void add_verdict(const struct execute *ex, struct strbuf *out)
{
	const char *status = execute_status(ex);
	char sentence[160] = "";
	bool explained = execute_explain(ex, sentence, sizeof(sentence));
	bool ok = strcmp(status, "ok") == 0;

	if (ok || (strcmp(status, "error") == 0 && !ex->result.lost)) {
		add_exit(ex, out, ok, sentence);
		return;
	}
	strbuf_addstr(out, "<p class=\"verdict bad\" role=\"status\">");
	page_str(out, explained ? sentence : status);
	strbuf_addstr(out, "</p>\n");
}

static void add_stream(const struct execute *ex, struct strbuf *out, const struct page_stream *s)
{
	if (s->text.len == 0)
		return;
	/* A line end right after the tag is not part of the text; without it, the text's own first
	 * one would be lost. */
	strbuf_addf(out, "<h3>%s</h3>\n<pre class=\"%s\" tabindex=\"0\">\n", s->title, s->class);
	page_text(out, s->text.buf, s->text.len);
	strbuf_addstr(out, "</pre>\n");
	if (s->cut)
		strbuf_addf(out,
			    "<p class=\"note\">Cut at %lld bytes of text; the program wrote %llu "
			    "bytes.</p>\n",
			    (long long)ex->output_bytes, (unsigned long long)s->bytes);
}

static bool is_picture(const char *mime)
{
	static const char *const types[] = { "image/png", "image/jpeg", "image/gif", "image/webp" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strcmp(mime, types[i]) == 0)
			return true;
	return false;
}

static void add_picture(struct strbuf *out, const struct blob *file)
{
	strbuf_addstr(out, "<figure><img src=\"/v1/files/");
	page_str(out, file->id);
	strbuf_addstr(out, "\" alt=\"");
	page_str(out, file->name);
	strbuf_addstr(out, "\"><figcaption><bdi>");
	page_str(out, file->name);
	strbuf_addstr(out, "</bdi></figcaption></figure>\n");
}

static void add_files(struct strbuf *out, const struct execute_output *o)
{
	if (o->count == 0)
		return;
	strbuf_addstr(out, "<h3>Files</h3>\n<ul class=\"files\">\n");
	for (size_t i = 0; i < o->count; i++) {
		strbuf_addstr(out, "<li>");
		page_link(out, &o->files[i]);
		strbuf_addstr(out, " <span class=\"size\">");
		page_size(out, o->files[i].size);
		strbuf_addstr(out, "</span></li>\n");
	}
	strbuf_addstr(out, "</ul>\n");
	for (size_t i = 0; i < o->count; i++)
		if (is_picture(o->files[i].mime))
			add_picture(out, &o->files[i]);
}

static const char *skip_words(const char *reason)
{
	static const struct {
		const char *reason, *words;
	} table[] = {
		{ "link", "it is a link, which is not followed" },
		{ "special", "it is no regular file" },
		{ "too_large", "it is over the size limit, or all files together are" },
		{ "too_many", "there are more files than one job may return" },
		{ "unreadable", "it could not be read" },
		{ "bad_name", "no file can be stored by this name" },
		{ "too_deep", "it is in too many folders" },
		{ "store_full", "the store is full" },
		{ "store_failed", "it could not be stored" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (strcmp(reason, table[i].reason) == 0)
			return table[i].words;
	return reason;
}

static void add_skipped(struct strbuf *out, const struct run_result *r)
{
	if (r->skipped_count == 0)
		return;
	strbuf_addstr(out, "<h3>Not returned</h3>\n<ul class=\"skipped\">\n");
	for (size_t i = 0; i < r->skipped_count; i++) {
		strbuf_addstr(out, "<li><bdi>");
		page_str(out, r->skipped[i].path);
		strbuf_addstr(out, "</bdi>: ");
		page_str(out, skip_words(r->skipped[i].reason));
		strbuf_addstr(out, "</li>\n");
	}
	if (r->skipped_more > 0)
		strbuf_addf(out, "<li>and %zu more</li>\n", r->skipped_more);
	strbuf_addstr(out, "</ul>\n");
}

static void add_fact(struct strbuf *out, const char *name, int64_t ms)
{
	strbuf_addf(out, "<div><dt>%s</dt><dd>", name);
	add_duration(out, ms);
	strbuf_addstr(out, "</dd></div>\n");
}

/* What a lost container left unknown is left out. */
static void add_facts(const struct execute *ex, struct strbuf *out)
{
	const struct run_result *r = &ex->result;

	strbuf_addstr(out, "<dl class=\"facts\">\n");
	add_fact(out, "Time", wall_ms(r));
	if (!r->lost)
		add_fact(out, "CPU", (int64_t)(r->exit.cpu_us / 1000));
	if (r->exit.memory_peak > 0) {
		strbuf_addstr(out, "<div><dt>Memory, at most</dt><dd>");
		page_size(out, (int64_t)r->exit.memory_peak);
		strbuf_addstr(out, "</dd></div>\n");
	}
	add_fact(out, "Waited for a container", ex->lease.queue_ms);
	add_fact(out, "Container's start", ex->lease.start_ms);
	strbuf_addstr(out, "</dl>\n");
}

static void add_program(struct strbuf *out, const char *code)
{
	strbuf_addstr(out, "<details><summary>The program</summary>\n"
			   "<pre class=\"code\" tabindex=\"0\">\n");
	page_str(out, code);
	strbuf_addstr(out, "</pre></details>\n");
}

static void load_stream(const struct execute *ex, const struct strbuf *raw, uint64_t said,
			struct page_stream *s)
{
	s->bytes = MAX(said, (uint64_t)raw->len);
	s->cut = execute_text(ex, raw, s->bytes, &s->text);
}

static size_t page_bytes(const struct execute *ex, const struct page_stream *streams)
{
	const struct run_result *r = &ex->result;
	size_t texts = streams[0].text.len + streams[1].text.len + strlen(ex->fields.code);
	size_t items = ex->output.count + r->skipped_count;

	/* A file's name may stand there three times: link, picture and its caption. */
	for (size_t i = 0; i < ex->output.count; i++)
		texts += 3 * strlen(ex->output.files[i].name);
	for (size_t i = 0; i < r->skipped_count; i++)
		texts += strlen(r->skipped[i].path);
	return FIXED_BYTES + items * 2 * ITEM_BYTES + PAGE_GROWTH * texts;
}

static void write_page(const struct execute *ex, struct strbuf *out,
		       const struct page_stream *streams)
{
	page_begin(out, "Result", NULL);
	strbuf_addstr(out, "<section class=\"result\" aria-labelledby=\"result-title\">\n"
			   "<h1 id=\"result-title\">Result</h1>\n");
	add_verdict(ex, out);
	add_stream(ex, out, &streams[0]);
	add_stream(ex, out, &streams[1]);
	if (streams[0].text.len + streams[1].text.len == 0)
		strbuf_addstr(out, "<p class=\"empty\">The program wrote no output.</p>\n");
	add_files(out, &ex->output);
	add_skipped(out, &ex->result);
	add_facts(ex, out);
	add_program(out, ex->fields.code);
	strbuf_addstr(out, "</section>\n"
			   "<p class=\"back\"><a href=\"/\">Run another program</a></p>\n");
	page_end(out);
}

int execute_page(struct execute *ex, struct response *res, struct err *err)
{
	struct page_stream streams[] = { { .title = "Output", .class = "stdout" },
					 { .title = "Errors", .class = "stderr" } };
	struct strbuf *out = &res->body;

	load_stream(ex, &ex->result.out, ex->result.exit.stdout_bytes, &streams[0]);
	load_stream(ex, &ex->result.err, ex->result.exit.stderr_bytes, &streams[1]);
	strbuf_clear(out);
	strbuf_init(out, page_bytes(ex, streams));
	write_page(ex, out, streams);
	strbuf_clear(&streams[0].text);
	strbuf_clear(&streams[1].text);
	res->status = 200;
	res->content_type = PAGE_TYPE;
	return strbuf_ok(out) ? 0
			      : err_set(err, ERR_INTERNAL, "the page does not fit into %zu bytes",
					out->max);
}
