/*
 * A WebDriver client for chromedriver. Owns the driver's process and its folder; the driver owns
 * Chromium and ends it with itself, also when it is killed. Used by the tests of the pages; knows
 * nothing of the service.
 */
#include "support/browser.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "support/answer.h"
#include "support/cleanup.h"
#include "support/tool.h"
#include "support/web.h"
#include "wire/base64.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRIVER "/usr/bin/chromedriver"
#define CHROMIUM "/usr/bin/chromium"
#define CALL_MS 120000
#define STOP_MS 15000
#define PICTURE_MAX (64 << 20)
/* The specification's name of the member that holds an element's id. */
#define ELEMENT "element-6066-11e4-a52e-4f735466cecf"

/* path is below the session; params is JSON text or NULL. */
static void call(struct browser *b, const char *method, const char *path, const char *params,
		 struct answer *out)
{
	AUTO_FREE char *url =
		xasprintf("http://127.0.0.1:%d/session/%s%s", b->port, b->session, path);
	web_call(&(struct web_request){ .method = method,
					.url = url,
					.body = params,
					.len = params ? strlen(params) : 0,
					.ms = CALL_MS },
		 out);
	if (out->status != 200)
		answer_fail(out, __FILE__, __LINE__, "chromedriver: %s %s %s", method, path,
			    params ? params : "");
}

static void post(struct browser *b, const char *path, const char *params)
{
	AUTO(answer) a = ANSWER_INIT;
	call(b, "POST", path, params, &a);
}

/* {"name": "text"}; the caller's. */
static char *one_member(const char *name, const char *text)
{
	struct json_object *top = json_object_new_object();
	json_object_object_add(top, name, json_object_new_string(text));
	char *out = xstrdup(json_object_to_json_string_ext(top, JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(top);
	return out;
}

static char *value_text(const struct answer *a)
{
	struct json_object *value = answer_get(a, "value");
	return xstrdup(value ? json_object_get_string(value) : "");
}

/* Start and end */

static bool is_ready(void *arg)
{
	AUTO(answer) a = ANSWER_INIT;
	struct browser *b = arg;
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d/status", b->port);
	web_call(&(struct web_request){ .url = url, .ms = CALL_MS }, &a);
	struct json_object *ready = a.status == 200 ? answer_get(&a, "value.ready") : NULL;
	return ready && json_object_get_boolean(ready);
}

static bool is_up(void *arg)
{
	AUTO(answer) a = ANSWER_INIT;
	struct browser *b = arg;
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d/json/version", b->chromium_port);
	web_call(&(struct web_request){ .url = url, .ms = CALL_MS }, &a);
	return a.status == 200;
}

/* Starts one of the two and waits until it answers. */
static pid_t spawn(struct browser *b, const char *const *argv, bool (*answers)(void *))
{
	AUTO_FREE char *log = xasprintf("%s/log", b->dir);
	AUTO_FREE char *home = xasprintf("HOME=%s", b->dir);
	AUTO_FREE char *temp = xasprintf("TMPDIR=%s", b->dir);
	pid_t pid = tool_spawn(&(struct tool_child){
		.argv = argv,
		.env = (const char *const[]){ home, temp, "LANG=C.UTF-8", NULL },
		.log = log });
	cleanup_pid(pid);
	if (tool_until(answers, b, TOOL_WAIT_MS))
		return pid;
	AUTO_FREE char *end = tool_tail(log, 2000);
	ck_abort_msg("%s doesn't answer:\n%s", argv[0], end);
}

/* The settings of the profile; 2 is "block". */
static void write_profile(struct browser *b)
{
	AUTO_FREE char *profile = xasprintf("%s/profile", b->dir);
	AUTO_FREE char *folder = xasprintf("%s/Default", profile);
	AUTO_FREE char *path = xasprintf("%s/Preferences", folder);
	ck_assert(mkdir(profile, 0700) == 0 && mkdir(folder, 0700) == 0);
	tool_write(path, b->script ? "{}"
				   : "{\"profile\":{\"managed_default_content_settings\":{"
				     "\"javascript\":2}}}");
}

/* Root's Chromium runs only without its own sandbox, and containers have a small /dev/shm. The
 * driver would start one too, but leave it behind when it is told to stop without a word on its
 * session. */
static void spawn_chromium(struct browser *b)
{
	AUTO_FREE char *profile = xasprintf("--user-data-dir=%s/profile", b->dir);
	AUTO_FREE char *port = xasprintf("--remote-debugging-port=%d", b->chromium_port);
	const char *const argv[] = { CHROMIUM,
				     "--headless=new",
				     "--no-sandbox",
				     "--disable-gpu",
				     "--disable-dev-shm-usage",
				     "--no-proxy-server",
				     "--no-first-run",
				     "--disable-background-networking",
				     "--disable-component-update",
				     "--disable-sync",
				     "--disable-breakpad",
				     "--password-store=basic",
				     profile,
				     port,
				     "about:blank",
				     NULL };
	b->chromium = spawn(b, argv, is_up);
}

static void new_session(struct browser *b)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *params =
		xasprintf("{\"capabilities\":{\"alwaysMatch\":{\"browserName\":\"chrome\","
			  "\"goog:loggingPrefs\":{\"browser\":\"ALL\"},"
			  "\"goog:chromeOptions\":{\"debuggerAddress\":\"127.0.0.1:%d\"}}}}",
			  b->chromium_port);
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d/session", b->port);
	web_call(&(struct web_request){ .method = "POST",
					.url = url,
					.body = params,
					.len = strlen(params),
					.ms = CALL_MS },
		 &a);
	if (a.status != 200)
		answer_fail(&a, __FILE__, __LINE__, "chromedriver finds no Chromium");
	snprintf(b->session, sizeof(b->session), "%s", answer_str(&a, "value.sessionId"));
}

void browser_start(struct browser *b, bool script)
{
	*b = (struct browser){ .script = script };
	if (access(DRIVER, X_OK) < 0 || access(CHROMIUM, X_OK) < 0)
		ck_abort_msg("no " DRIVER " or no " CHROMIUM
			     "; install them: src/ops/deps.sh test");
	b->dir = tool_new_dir("browser");
	b->port = tool_free_port();
	AUTO_FREE char *port = xasprintf("--port=%d", b->port);
	b->driver = spawn(b, (const char *const[]){ DRIVER, port, NULL }, is_ready);
	/* After the driver has taken its own. */
	b->chromium_port = tool_free_port();
	write_profile(b);
	spawn_chromium(b);
	new_session(b);
}

static void stop(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)tool_stop(pid, STOP_MS);
	cleanup_forget(pid);
}

void browser_stop(struct browser *b)
{
	stop(b->driver);
	stop(b->chromium);
	if (b->dir)
		tool_rmtree(b->dir);
	free(b->dir);
	*b = (struct browser){ 0 };
}

/* Pages */

static void devtools(struct browser *b, const char *command, const char *params)
{
	AUTO_FREE char *body = xasprintf("{\"cmd\":\"%s\",\"params\":%s}", command, params);
	post(b, "/goog/cdp/execute", body);
}

void browser_view(struct browser *b, int width, int height, bool dark)
{
	AUTO_FREE char *size =
		xasprintf("{\"width\":%d,\"height\":%d,\"deviceScaleFactor\":1,\"mobile\":false}",
			  width, height);
	AUTO_FREE char *media =
		xasprintf("{\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":\"%s\"}]}",
			  dark ? "dark" : "light");
	devtools(b, "Emulation.setDeviceMetricsOverride", size);
	devtools(b, "Emulation.setEmulatedMedia", media);
}

void browser_go(struct browser *b, const char *url)
{
	AUTO_FREE char *params = one_member("url", url);
	post(b, "/url", params);
}

char *browser_url(struct browser *b)
{
	AUTO(answer) a = ANSWER_INIT;
	call(b, "GET", "/url", NULL, &a);
	return value_text(&a);
}

/* Elements */

static void find_all(struct browser *b, const char *css, struct answer *out)
{
	struct json_object *top = json_object_new_object();
	json_object_object_add(top, "using", json_object_new_string("css selector"));
	json_object_object_add(top, "value", json_object_new_string(css));
	call(b, "POST", "/elements", json_object_to_json_string(top), out);
	json_object_put(top);
}

size_t browser_count(struct browser *b, const char *css)
{
	AUTO(answer) a = ANSWER_INIT;
	find_all(b, css, &a);
	return json_object_array_length(answer_get(&a, "value"));
}

/* "/element/<id>" and the rest of a path; the caller's. */
static char *element_path(struct browser *b, const char *css, const char *rest)
{
	AUTO(answer) a = ANSWER_INIT;
	find_all(b, css, &a);
	if (json_object_array_length(answer_get(&a, "value")) == 0)
		answer_fail(&a, __FILE__, __LINE__, "the page has no %s", css);
	return xasprintf("/element/%s/%s", answer_str(&a, "value.0." ELEMENT), rest);
}

struct element_wait {
	struct browser *b;
	const char *css;
};

static bool is_there(void *arg)
{
	struct element_wait *w = arg;
	return browser_count(w->b, w->css) > 0;
}

void browser_wait(struct browser *b, const char *css)
{
	struct element_wait w = { b, css };
	if (tool_until(is_there, &w, TOOL_WAIT_MS))
		return;
	AUTO_FREE char *page = browser_text(b, "body");
	ck_abort_msg("the page has no %s:\n%.2000s", css, page);
}

static void ask(struct browser *b, const char *css, const char *rest, struct answer *out)
{
	AUTO_FREE char *path = element_path(b, css, rest);
	call(b, "GET", path, NULL, out);
}

char *browser_text(struct browser *b, const char *css)
{
	AUTO(answer) a = ANSWER_INIT;
	ask(b, css, "text", &a);
	return value_text(&a);
}

char *browser_property(struct browser *b, const char *css, const char *name)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *rest = xasprintf("property/%s", name);
	ask(b, css, rest, &a);
	return value_text(&a);
}

char *browser_attribute(struct browser *b, const char *css, const char *name)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO_FREE char *rest = xasprintf("attribute/%s", name);
	ask(b, css, rest, &a);
	return answer_get(&a, "value") ? value_text(&a) : NULL;
}

void browser_type(struct browser *b, const char *css, const char *keys)
{
	AUTO_FREE char *path = element_path(b, css, "value");
	AUTO_FREE char *params = one_member("text", keys);
	post(b, path, params);
}

void browser_empty(struct browser *b, const char *css)
{
	AUTO_FREE char *path = element_path(b, css, "clear");
	post(b, path, "{}");
}

void browser_click(struct browser *b, const char *css)
{
	AUTO_FREE char *path = element_path(b, css, "click");
	post(b, path, "{}");
}

char *browser_eval(struct browser *b, const char *body)
{
	AUTO(answer) a = ANSWER_INIT;
	struct json_object *top = json_object_new_object();
	json_object_object_add(top, "script", json_object_new_string(body));
	json_object_object_add(top, "args", json_object_new_array());
	call(b, "POST", "/execute/sync", json_object_to_json_string(top), &a);
	json_object_put(top);
	return value_text(&a);
}

/* What the browser has to say */

char *browser_console(struct browser *b)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) out = STRBUF(TOOL_FILE_MAX);
	call(b, "POST", "/se/log", "{\"type\":\"browser\"}", &a);
	struct json_object *list = answer_get(&a, "value");
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);
		strbuf_addf(&out, "%s %s\n",
			    json_object_get_string(answer_json_get(entry, "level")),
			    json_object_get_string(answer_json_get(entry, "message")));
	}
	return xstrdup(out.buf);
}

void browser_screenshot(struct browser *b, const char *path)
{
	AUTO(answer) a = ANSWER_INIT;
	AUTO(strbuf) picture = STRBUF(PICTURE_MAX);
	call(b, "GET", "/screenshot", NULL, &a);
	WANT(&a, base64_decode(&picture, answer_str(&a, "value"), strlen(answer_str(&a, "value"))));
	FILE *f = fopen(path, "we");
	ck_assert_msg(f && fwrite(picture.buf, 1, picture.len, f) == picture.len, "%s: not written",
		      path);
	ck_assert(fclose(f) == 0);
}
