/* The examples of FIPS 180-4 and lengths around a block, whole and in pieces. */
#include "unit/suites.h"
#include "wire/sha256.h"

#include <check.h>

static const struct {
	const char *text;
	size_t times;
	const char *want;
} rows[] = {
	{ "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	{ "a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
	{ "x", 55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072" },
	{ "x", 56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e" },
	{ "x", 63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2" },
	{ "x", 64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c" },
	{ "x", 65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9" },
	{ "x", 119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c" },
	{ "x", 120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98" },
};

START_TEST(known_digests)
{
	char out[SHA256_HEX];
	struct sha256 s;

	sha256_init(&s);
	for (size_t i = 0; i < rows[_i].times; i++)
		sha256_add(&s, rows[_i].text, strlen(rows[_i].text));
	sha256_hex(&s, out);
	ck_assert_str_eq(out, rows[_i].want);
}
END_TEST

START_TEST(the_same_in_pieces)
{
	static char text[300];
	char whole[SHA256_HEX], pieces[SHA256_HEX];
	struct sha256 s;

	memset(text, 'q', sizeof(text));
	sha256_init(&s);
	sha256_add(&s, text, sizeof(text));
	sha256_hex(&s, whole);
	for (size_t step = 1; step <= sizeof(text); step++) {
		sha256_init(&s);
		for (size_t at = 0; at < sizeof(text); at += step)
			sha256_add(&s, text + at, MIN(step, sizeof(text) - at));
		sha256_hex(&s, pieces);
		ck_assert_str_eq(pieces, whole);
	}
}
END_TEST

Suite *suite_wire_sha256(void)
{
	Suite *s = suite_create("wire_sha256");
	TCase *tc = tcase_create("sha256");

	tcase_add_loop_test(tc, known_digests, 0, ARRAY_SIZE(rows));
	tcase_add_test(tc, the_same_in_pieces);
	suite_add_tcase(s, tc);
	return s;
}
