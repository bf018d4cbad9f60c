/* Which posts are taken from which pages. Each row is one request as a CGI server hands it over;
 * the parameters are the environment. */
#include "base/err.h"
#include "unit/suites.h"
#include "web/channel.h"
#include "web/origin.h"
#include "web/request.h"

#include <check.h>
#include <stdlib.h>

struct row {
	const char *method, *type, *site, *origin;
	bool passes;
};

#define FORM "multipart/form-data; boundary=x"

static const struct row rows[] = {
	/* programs */
	{ "POST", FORM, "", "", true },
	{ "POST", "", "", "", true },
	/* a browser that says whose page it was */
	{ "POST", FORM, "same-origin", "http://h:1", true },
	{ "POST", FORM, "same-origin", "null", true },
	{ "POST", FORM, "none", "", true },
	{ "POST", FORM, "cross-site", "http://evil", false },
	{ "POST", FORM, "cross-site", "http://h:1", false },
	{ "POST", FORM, "same-site", "http://other.h:1", false },
	{ "POST", "", "cross-site", "http://evil", false },
	{ "POST", "text/plain", "cross-site", "http://evil", false },
	{ "POST", "application/x-www-form-urlencoded", "cross-site", "", false },
	/* one that doesn't */
	{ "POST", FORM, "", "http://h:1", true },
	{ "POST", FORM, "", "https://H:1", true },
	{ "POST", FORM, "", "http://evil", false },
	{ "POST", FORM, "", "http://h:1.evil", false },
	{ "POST", FORM, "", "http://h", false },
	{ "POST", FORM, "", "null", false },
	{ "POST", "", "", "http://evil", false },
	/* what a browser asks about first */
	{ "POST", "application/json", "cross-site", "http://evil", true },
	{ "DELETE", "", "cross-site", "http://evil", true },
	{ "GET", "", "cross-site", "http://evil", true },
};

START_TEST(forms_of_other_sites_are_refused)
{
	const struct row *row = &rows[_i];
	struct channel *channel = channel_new(-1, true);
	struct request req;
	struct err err = ERR_INIT;

	setenv("REQUEST_METHOD", row->method, 1);
	setenv("REQUEST_URI", "/v1/files", 1);
	setenv("CONTENT_TYPE", row->type, 1);
	setenv("HTTP_SEC_FETCH_SITE", row->site, 1);
	setenv("HTTP_ORIGIN", row->origin, 1);
	setenv("HTTP_HOST", "h:1", 1);
	ck_assert_int_eq(request_open(&req, channel, &err), 0);
	ck_assert_int_eq(origin_check(&req, &err), row->passes ? 0 : -1);
	ck_assert_int_eq(err.code, row->passes ? ERR_NONE : ERR_CROSS_SITE);
	channel_free(channel);
}
END_TEST

Suite *suite_web_origin(void)
{
	Suite *s = suite_create("web_origin");
	TCase *tc = tcase_create("web_origin");

	tcase_add_loop_test(tc, forms_of_other_sites_are_refused, 0, (int)ARRAY_SIZE(rows));
	suite_add_tcase(s, tc);
	return s;
}
