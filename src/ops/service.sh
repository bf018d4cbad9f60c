#!/bin/sh
# service.sh start|stop|status: the Belljar service alone, from $BUILD_DIR, for $RUN_DIR. Settings are those of the environment
# and of the file that CONFIG names. start replaces a service that runs; nginx answers 502 with a hint for that second.
set -eu
. "$(dirname "$0")/common.sh"

BELLJAR=${BELLJAR:-$BUILD_DIR/belljar}
SERVICE_LOG=${SERVICE_LOG:-$LOG_DIR/$(basename "$RUN_DIR").log}
# The master gives its roles time to end their jobs before it kills them.
STOP_TENTHS=${STOP_TENTHS:-300}
START_TENTHS=300

master_pid() {
	pid=$(cat "$RUN_DIR/master.pid" 2>/dev/null || true)
	process_is "$pid" belljar && printf '%s\n' "$pid"
}

make_user() {
	id "$SERVICE_USER" >/dev/null 2>&1 && return 0
	useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$SERVICE_USER"
}

stop() {
	pid=$(master_pid) || return 0
	stop_process "$pid" "$STOP_TENTHS" || fail "the service (pid $pid) doesn't end"
}

wait_ready() {
	left=$START_TENTHS
	while [ "$left" -gt 0 ]; do
		[ -S "$RUN_DIR/fcgi.sock" ] && [ -S "$RUN_DIR/keeper.sock" ] && master_pid >/dev/null && return 0
		# Not by its name: that changes while the shell becomes setsid, nohup and then the service.
		lives "$1" || return 1
		sleep 0.1
		left=$((left - 1))
	done
	return 1
}

start() {
	need_root
	[ -x "$BELLJAR" ] || fail "$BELLJAR isn't there: run make"
	make_user
	set -- ${CONFIG:+--config "$CONFIG"}
	# Not what the file has set: a reload reads it again.
	export RUN_DIR SERVICE_USER
	"$BELLJAR" "$@" -t </dev/null || fail "the settings are refused (see above)"
	stop
	mkdir -p "$LOG_DIR"
	detach "$BELLJAR" "$@" </dev/null >>"$SERVICE_LOG" 2>&1 &
	wait_ready $! && return 0
	tail -n 10 "$SERVICE_LOG" >&2
	fail "the service didn't start; its log is $SERVICE_LOG"
}

case ${1:-} in
start) start ;;
stop) stop ;;
status) master_pid || { say "not running"; exit 1; } ;;
*) fail "usage: service.sh start|stop|status" ;;
esac
