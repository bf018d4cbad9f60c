/* The header that names a download: the exact name by RFC 8187, a plain one beside it, and nothing
 * that ends the header or the quotes. */
#include "base/strbuf.h"
#include "limits.h"
#include "unit/suites.h"
#include "wire/disposition.h"
#include "wire/param.h"

#include <check.h>
#include <string.h>

static const struct {
	const char *path, *want;
} rows[] = {
	{ "a.csv", "attachment; filename=\"a.csv\"; filename*=UTF-8''a.csv" },
	{ "two words.txt",
	  "attachment; filename=\"two words.txt\"; filename*=UTF-8''two%20words.txt" },
	{ "Relev\u00e9 \u2013 \u00e9t\u00e9 (v1).csv",
	  "attachment; filename=\"Relev_ _ _t_ (v1).csv\"; "
	  "filename*=UTF-8''Relev%C3%A9%20%E2%80%93%20%C3%A9t%C3%A9%20%28v1%29.csv" },
	{ "\U0001f40d.py", "attachment; filename=\"_.py\"; filename*=UTF-8''%F0%9F%90%8D.py" },
	{ "a\"b\\c%41.txt",
	  "attachment; filename=\"a_b_c_41.txt\"; filename*=UTF-8''a%22b%5Cc%2541.txt" },
	{ "-rf", "attachment; filename=\"-rf\"; filename*=UTF-8''-rf" },
	{ ".hidden", "attachment; filename=\".hidden\"; filename*=UTF-8''.hidden" },
	{ "out/plots/x.png", "attachment; filename=\"x.png\"; filename*=UTF-8''x.png" },
	{ "a'b;c=d", "attachment; filename=\"a'b;c=d\"; filename*=UTF-8''a%27b%3Bc%3Dd" },
	{ "!#$&+-.^_`|~", "attachment; filename=\"!#$&+-.^_`|~\"; filename*=UTF-8''!#$&+-.^_`|~" },
	/* No name of the store has them; a header must not be split all the same. */
	{ "a\r\nb\x7f", "attachment; filename=\"a__b_\"; filename*=UTF-8''a%0D%0Ab%7F" },
};

START_TEST(names)
{
	AUTO(strbuf) out = STRBUF(LIMIT_HEADER_VALUE);

	disposition_attachment(&out, rows[_i].path);
	ck_assert(strbuf_ok(&out));
	ck_assert_str_eq(out.buf, rows[_i].want);
}
END_TEST

/* The longest names there are, of each kind of byte, read back by the parser of forms. */
static const char *const fillers[] = { "a", "\"", "\\", "%", " ", "\u00e9", "\u2013" };

START_TEST(longest_names_fit_and_read_back)
{
	AUTO(strbuf) name = STRBUF(LIMIT_NAME_BYTES);
	AUTO(strbuf) out = STRBUF(LIMIT_HEADER_VALUE - 1);
	AUTO(strbuf) back = STRBUF(LIMIT_NAME_BYTES);
	struct param_list params;

	while (name.len + strlen(fillers[_i]) <= LIMIT_NAME_BYTES)
		strbuf_addstr(&name, fillers[_i]);
	while (name.len < LIMIT_NAME_BYTES)
		strbuf_addch(&name, 'x');
	disposition_attachment(&out, name.buf);
	ck_assert(strbuf_ok(&out));
	ck_assert_int_eq(param_parse(&params, out.buf, out.len, NULL), 0);
	ck_assert(param_first_is(&params, "attachment"));
	ck_assert_ptr_nonnull(param_find(&params, "filename"));
	ck_assert_int_eq(param_ext(param_find(&params, "filename*"), &back, NULL), 0);
	ck_assert_str_eq(back.buf, name.buf);
}
END_TEST

Suite *suite_wire_disposition(void)
{
	Suite *s = suite_create("wire_disposition");
	TCase *tc = tcase_create("wire_disposition");

	tcase_add_loop_test(tc, names, 0, ARRAY_SIZE(rows));
	tcase_add_loop_test(tc, longest_names_fit_and_read_back, 0, ARRAY_SIZE(fillers));
	suite_add_tcase(s, tc);
	return s;
}
