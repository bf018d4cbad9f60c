/* What form_kit.h says. */
#include "unit/api/form_kit.h"

#include "base/strbuf.h"
#include "conf.h"
#include "unit/api/api_fixture.h"
#include "unit/api/keeper_script.h"
#include "unit/box/guest_script.h"

#include <check.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int contents;

static int count_content(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	contents += type == FTW_F && strcmp(path + at->base, "content") == 0;
	return 0;
}

int form_stored(void)
{
	contents = 0;
	ck_assert_int_eq(nftw(conf->storage_dir, count_content, 8, FTW_PHYS), 0);
	return contents;
}

void form_setup(void)
{
	api_fixture_setup();
}

void form_teardown(void)
{
	ck_assert_int_eq(form_stored(), 0);
	api_fixture_teardown();
}

void form_set(const char *key, const char *value)
{
	api_fixture_teardown();
	setenv(key, value, 1);
	api_fixture_setup();
}

static struct strbuf said;

static void say_path(const uint8_t *data, size_t len)
{
	struct frame_in in = { .buf = data, .len = len, .ok = true };
	uint32_t path_len;
	const char *path = frame_get_field(&in, &path_len);

	strbuf_addf(&said, "[%.*s]", (int)path_len, path);
}

static void say_words(const char *name, const char *words, uint32_t len)
{
	strbuf_addf(&said, " %s=", name);
	for (uint32_t i = 0; i < len; i++)
		strbuf_addch(&said, words[i] ? words[i] : '|');
}

static void say_job(const uint8_t *data, size_t len)
{
	struct frame_job job;

	if (!frame_get_job(data, len, &job))
		_exit(4);
	strbuf_addf(&said, "%u %u", job.timeout_ms, job.show_last);
	say_words("args", job.args, job.args_len);
	say_words("argv", job.argv, job.argv_len);
	say_words("env", job.env, job.env_len);
	strbuf_addch(&said, ' ');
}

/* Says back all it hears: the job, each file's path and content, and at the end stdin. */
static void parrot(int fd)
{
	const uint8_t *data;
	size_t len;
	int type;

	strbuf_init(&said, 60000);
	while ((type = guest_hear(fd, &data, &len)) != FRAME_GO) {
		if (type == FRAME_JOB)
			say_job(data, len);
		else if (type == FRAME_PUT)
			say_path(data, len);
		else if (type == FRAME_DATA)
			strbuf_add(&said, data, len);
	}
	guest_say(fd, FRAME_STARTED, NULL, 0);
	guest_say_room(fd, 4096);
	strbuf_addstr(&said, " stdin=");
	while ((type = guest_hear(fd, &data, &len)) == FRAME_STDIN)
		strbuf_add(&said, data, len);
	guest_say(fd, FRAME_STDOUT, said.buf, said.len);
	guest_say_ok(fd, said.len, 0);
	api_guest_bye(fd);
}

int form_send(const char *body, size_t len)
{
	static const struct lease_status well = {
		.magic = LEASE_MAGIC, .running = 1, .image_exists = 1, .limits_ok = 1
	};

	keeper_stop();
	keeper_start(&well, parrot);
	return api_send(&(struct api_request){
		.path = "/v1/execute", .type = FORM_TYPE, .body = body, .len = len });
}
