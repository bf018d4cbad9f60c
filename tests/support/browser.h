#pragma once

#include "base/base.h"

#include <sys/types.h>

/*
 * A real Chromium without a window, driven over WebDriver (https://www.w3.org/TR/webdriver2/).
 * Elements are named by CSS selectors; the first that fits is meant. Every function ends the test
 * with the driver's answer when it can't do its part.
 */
struct browser {
	pid_t driver, chromium; /* 0: none */
	int port, chromium_port;
	bool script;
	char *dir; /* profile and log of both */
	char session[80];
};

/* script: whether pages may run theirs. Starts both programs; works in fixtures and in tests. */
void browser_start(struct browser *b, bool script);
void browser_stop(struct browser *b);

/* The size of the page's area in CSS pixels, and what prefers-color-scheme says; hold until
 * changed. */
void browser_view(struct browser *b, int width, int height, bool dark);
/* Loads the address and waits until the page is there. */
void browser_go(struct browser *b, const char *url);
/* The address of the page; the caller's. */
char *browser_url(struct browser *b);
/* How many elements there are now. */
size_t browser_count(struct browser *b, const char *css);
/* Waits until there is one; ends the test after TOOL_WAIT_MS. */
void browser_wait(struct browser *b, const char *css);

/* The caller's. Text as a reader sees it; a property as JSON text without the quotes of a string
 * ("" for null). */
char *browser_text(struct browser *b, const char *css);
char *browser_property(struct browser *b, const char *css, const char *name);
/* An attribute; NULL when it isn't there. */
char *browser_attribute(struct browser *b, const char *css, const char *name);
/* Keys as they are typed; for a file input the paths to choose, with newlines between them. */
void browser_type(struct browser *b, const char *css, const char *keys);
void browser_empty(struct browser *b, const char *css);
void browser_click(struct browser *b, const char *css);
/* A function's body, run in the page; what it returns, in the form of browser_property. */
char *browser_eval(struct browser *b, const char *body);

/* Console messages and violations of the policy since the last call, one a line; the caller's, ""
 * for none. */
char *browser_console(struct browser *b);
/* What is in view, as PNG. */
void browser_screenshot(struct browser *b, const char *path);
