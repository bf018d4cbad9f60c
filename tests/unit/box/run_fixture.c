/* What run_fixture.h says. */
#include "unit/box/run_fixture.h"

#include "unit/box/guest_script.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct run_fixture run_fixture;

static int sink_begin(void *arg, const char *path, uint64_t size, struct err *err)
{
	struct run_fixture *f = arg;
	size_t used = strlen(f->seen);

	if (f->refuse_begin)
		return err_set(err, ERR_TOO_LARGE, "no");
	snprintf(f->seen + used, sizeof(f->seen) - used, "%s:%llu ", path,
		 (unsigned long long)size);
	return 0;
}

static int sink_data(void *arg, const void *data, size_t len, struct err *err)
{
	struct run_fixture *f = arg;
	(void)data;

	f->bytes += len;
	return f->refuse_data ? err_set(err, ERR_TOO_LARGE, "no") : 0;
}

static int sink_end(void *arg, struct err *err)
{
	struct run_fixture *f = arg;
	size_t used = strlen(f->seen);
	(void)err;

	snprintf(f->seen + used, sizeof(f->seen) - used, "end ");
	return 0;
}

static void sink_abort(void *arg)
{
	struct run_fixture *f = arg;

	f->aborts++;
}

struct run_job run_fixture_job(void)
{
	static const struct run_input program = {
		.path = "main.py", .data = "print()", .fd = -1, .size = 7
	};

	return (struct run_job){
		.frame = { .timeout_ms = 1000,
			   .output_bytes = RUN_OUTPUT_BYTES,
			   .cpu_time_s = 1,
			   .files_max = 3,
			   .files_bytes = RUN_FILES_BYTES,
			   .file_bytes = RUN_FILES_BYTES,
			   .main_name = "main.py",
			   .main_name_len = 7 },
		.inputs = &program,
		.inputs_count = 1,
		.watch_fd = -1,
	};
}

int run_fixture_with(void (*guest)(int fd), const struct run_job *job)
{
	const struct run_sink sink = { sink_begin, sink_data, sink_end, sink_abort, &run_fixture };
	int fd = guest_start(guest);
	int rc = run_job(fd, job, &sink, &run_fixture.result, &run_fixture.err);

	close(fd);
	return rc;
}

int run_fixture_run(void (*guest)(int fd))
{
	const struct run_job job = run_fixture_job();

	return run_fixture_with(guest, &job);
}

void run_fixture_clear(void)
{
	run_result_clear(&run_fixture.result);
	memset(&run_fixture, 0, sizeof(run_fixture));
}

void run_fixture_started(int fd)
{
	guest_hear_job(fd);
	guest_say(fd, FRAME_STARTED, NULL, 0);
	guest_say_room(fd, 65536);
}
