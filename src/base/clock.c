/*
 * Time in one place: the monotonic clock for deadlines and durations, the wall clock for what
 * people read. No timers, no alarms; the only sleep is clock_wait, for back-off.
 */
#include "base/clock.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

static int64_t clock_read_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t clock_ms(void)
{
	return clock_read_us(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_us(void)
{
	return clock_read_us(CLOCK_MONOTONIC);
}

int64_t clock_wall_ms(void)
{
	return clock_read_us(CLOCK_REALTIME) / 1000;
}

int clock_left(int64_t deadline_ms)
{
	int64_t now = clock_ms();

	if (deadline_ms <= now)
		return 0;
	return deadline_ms - now > INT_MAX ? INT_MAX : (int)(deadline_ms - now);
}

void clock_rfc3339(int64_t wall_ms, char *out)
{
	int64_t ms = wall_ms % 1000;
	time_t seconds;
	struct tm tm;

	if (ms < 0)
		ms += 1000;
	seconds = (time_t)((wall_ms - ms) / 1000);
	/* A time that has no four-digit year is no time of ours; the format has no place for it. */
	if (!gmtime_r(&seconds, &tm) || tm.tm_year < -1900 || tm.tm_year > 8099) {
		seconds = 0;
		ms = 0;
		gmtime_r(&seconds, &tm);
	}
	if (strftime(out, CLOCK_TEXT, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		out[0] = '\0';
	snprintf(out + strlen(out), 6, ".%03uZ", (unsigned)ms % 1000);
}

void clock_wait(int64_t deadline_ms)
{
	struct timespec until = {
		.tv_sec = (time_t)(deadline_ms / 1000),
		.tv_nsec = (long)(deadline_ms % 1000) * 1000000,
	};

	if (deadline_ms > 0)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}
