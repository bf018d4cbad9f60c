#!/bin/sh
# test.sh [STAGE...]: `make test`. Sets the machine up and runs every test, stage by stage, or only the stages named.
#
# A stage that others need (packages, build, engine, images) ends the run when it fails; the rest goes on, so that one run shows all
# that is wrong. Each stage's whole output goes to stdout and stays in build/test-logs/. After a failure the last lines repeat
# what failed, stage by stage, and the exit code is 1; without one they are the times and Check's totals.
#
# Works as root without stdin and terminal, with an empty environment, after a kill -9 of everything, and beside a running service: the
# tests have ports, folders and labels of their own.
set -eu
exec </dev/null
. "$(dirname "$0")/common.sh"
cd "$ROOT_DIR"

LOGS=$ROOT_DIR/build/test-logs
JOBS=$(nproc)
ONLY=" $* "
REPEAT_LINES=60
REPEAT_COLUMNS=400

# What the make above us was told is in the environment (VARIANT, V); its job slots must not be waited for.
unset MAKEFLAGS MFLAGS MAKELEVEL
# Tests speak to this machine only, whatever proxy the packages come through.
export no_proxy=127.0.0.1,localhost NO_PROXY=127.0.0.1,localhost
export LC_ALL=C.UTF-8
# Check's time limits are for hangs; a machine that is three times slower has none yet.
export CK_TIMEOUT_MULTIPLIER="${CK_TIMEOUT_MULTIPLIER:-3}"
# Some tests crash on purpose.
ulimit -S -c 0

number=0
summary=
failed=

run_make() {
	make --no-print-directory -j "$JOBS" "$@"
}

# failures LOG: the lines of a log that say what went wrong, its end where hardly any does.
failures() {
	grep -aE -A 2 ':[FE]:[^:]*:[^:]*:[0-9]+:|(^|[^a-z_])(error|FAIL|FAILED|not ok)[: ]|Sanitizer|Traceback|[0-9]+ failed' "$1" |
		head -n "$REPEAT_LINES" | cut -c "1-$REPEAT_COLUMNS" >"$LOGS/.failures"
	[ "$(wc -l <"$LOGS/.failures")" -gt 3 ] || tail -n 20 "$1" | cut -c "1-$REPEAT_COLUMNS" >"$LOGS/.failures"
	cat "$LOGS/.failures"
}

# stage NAME COMMAND...: fails if the command does.
stage() {
	name=$1
	shift
	case $ONLY in
	'  ' | *" $name "*) ;;
	*) return 0 ;;
	esac
	number=$((number + 1))
	log=$LOGS/$(printf '%02d' "$number")-$name.log
	step "$number $name"
	began=$(date +%s)
	# sh has no pipefail: the status goes through a file.
	{ "$@" 2>&1 && echo 0 >"$LOGS/.status" || echo $? >"$LOGS/.status"; } | tee "$log"
	seconds=$(($(date +%s) - began))
	summary="$summary$(printf '%-14s %4d s' "$name" "$seconds")
"
	[ "$(cat "$LOGS/.status")" = 0 ] && return 0
	say "==> FAILED: stage $number $name after $seconds s (exit code $(cat "$LOGS/.status"))"
	failed="$failed $log"
	return 1
}

# need NAME COMMAND...: a stage without which the later ones mean nothing.
need() {
	stage "$@" || finish
}

# try NAME COMMAND...
try() {
	stage "$@" || true
}

finish() {
	say "==> $((($(date +%s) - all_began))) s in all"
	printf '%s' "$summary"
	grep -ahE '^[0-9]+%: Checks: ' "$LOGS"/*.log || true
	[ -n "$failed" ] || exit 0
	for log in $failed; do
		say
		say "==> FAILED: $(basename "$log" .log), in $log:"
		failures "$log"
	done
	say
	say "==> FAILED:$(for log in $failed; do
		printf ' %s' "$(basename "$log" .log)"
		sed -n 's/.*:[FE]:[^:]*:\([^:]*\):[0-9]*:.*/\1/p' "$log" | sort -u | paste -sd , - | sed 's/./(&/; s/$/)/; s/^)$//'
	done | tr '\n' ' ')"
	exit 1
}

image_check() {
	docker run --rm -i --network none --read-only --cap-drop ALL --security-opt no-new-privileges \
		--memory 512m --cpus 1 --pids-limit 64 --label com.belljar.instance=belljar-image-check \
		--tmpfs /workspace:exec,mode=1777,size=64m --tmpfs /tmp:mode=1777,size=64m \
		"$PYTHON_IMAGE" python3 - <tests/driver/image_check.py
}

# The guest and its Python driver, in containers and on this machine.
driver_tests() {
	# Containers read them as a user of their own, whatever the umask of the checkout was.
	chmod -R a+rX tests/driver "$BUILD_DIR/drivers" "$BUILD_DIR/guest"
	BELLJAR_TEST_IMAGE="$PYTHON_IMAGE" tests/driver/run.sh "$BUILD_DIR/guest" "$BUILD_DIR/drivers"
}

# default_of KEY: what the service's own table says.
default_of() {
	"$BUILD_DIR/belljar" -T | sed -n "s/^| .$1. | .\([^|]*\). |.*/\1/p"
}

# same_line FILE LINE: a value of the service that stands in FILE too.
same_line() {
	grep -qF -- "$2" "$1" && return 0
	say "error: $1 has not the service's default, which makes it '$2'"
	return 1
}

# Values that stand in nginx's files and scripts as well as in the service's table must be the same.
same_defaults() {
	for key in MAX_UPLOAD_MB MAX_EXEC_TIMEOUT_MS QUEUE_TIMEOUT_MS FILE_STORAGE_DIR WEB_GROUP; do
		same_line src/ops/nginx.sh "$key=\${$key:-$(default_of "$key")}" || return 1
	done
	value=$(default_of MAX_UPLOAD_MB)
	same_line nginx/belljar_limits.conf "client_max_body_size ${value}m;" &&
		same_line nginx/belljar_errors.conf "MAX_UPLOAD_MB allows $value MiB." &&
		same_line nginx/belljar_files.conf "set \$belljar_files $(default_of FILE_STORAGE_DIR);" &&
		same_line nginx/nginx.conf "user $(default_of WEB_GROUP);" &&
		same_compose
}

# What compose passes on has the service's default, and there is no other way to set it.
same_compose() {
	for key in MAX_EXEC_TIMEOUT_MS MAX_REQUEST_BYTES MAX_UPLOAD_MB MAX_FILE_SIZE_MB FILE_TTL_SEC UPLOAD_ALLOW UPLOAD_DENY \
		FILES_QUOTA_MB STORE_QUOTA_MB; do
		same_line docker-compose.yml "      $key: \${$key:-$(default_of "$key")}" || return 1
	done
}

# nginx's own opinion of our files, in the form in which `make run` uses them.
nginx_check() {
	same_defaults || return 1
	dir=$(mktemp -d)
	RUN_DIR=$dir NGINX_DIR=$dir/nginx "$OPS_DIR/nginx.sh" render &&
		nginx -p "$dir/nginx/" -c "$dir/nginx/conf/nginx.conf" -e /dev/stderr -t
	status=$?
	rm -rf "$dir"
	return $status
}

need_root
rm -rf "$LOGS"
mkdir -p "$LOGS"
all_began=$(date +%s)
need packages "$OPS_DIR/deps.sh" test
need build run_make programs
try layers "$OPS_DIR/layers.sh"
try lint "$OPS_DIR/lint.sh"
try unit run_make unit
try fuzz-replay run_make fuzz-replay
try nginx nginx_check
need engine "$OPS_DIR/engine.sh" start
need images "$OPS_DIR/images.sh" python
try image-check image_check
try driver driver_tests
try system run_make system
[ "$VARIANT" = asan ] || try unit-asan run_make VARIANT=asan unit
[ "$number" -gt 0 ] || fail "there is no stage$ONLY"
finish
