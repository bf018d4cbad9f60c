#!/bin/sh
# test.sh: `make test`. Sets the machine up and runs every test, stage by stage; ends at the first stage that fails and names it.
# Each stage's whole output goes to stdout and to build/test-logs/. The closing lines are Check's.
#
# Works as root without stdin, after a kill -9 of everything, and beside a running service: the tests have ports, folders and labels
# of their own.
set -eu
exec </dev/null
. "$(dirname "$0")/common.sh"
cd "$ROOT_DIR"

LOGS=$ROOT_DIR/build/test-logs
JOBS=$(nproc)
number=0
summary=

run_make() {
	make --no-print-directory -j "$JOBS" "$@"
}

# stage NAME COMMAND...
stage() {
	name=$1
	shift
	number=$((number + 1))
	log=$LOGS/$(printf '%02d' "$number")-$name.log
	step "$number $name"
	began=$(date +%s)
	# sh has no pipefail: the status goes through a file.
	{ "$@" 2>&1 && echo 0 >"$LOGS/.status" || echo $? >"$LOGS/.status"; } | tee "$log"
	seconds=$(($(date +%s) - began))
	if [ "$(cat "$LOGS/.status")" != 0 ]; then
		say "==> FAILED in stage $number $name after $seconds s: $log"
		exit 1
	fi
	say "    $name took $seconds s"
	summary="$summary$(printf '%-14s %4d s' "$name" "$seconds")
"
}

image_check() {
	docker run --rm -i --network none --read-only --cap-drop ALL --security-opt no-new-privileges \
		--memory 512m --cpus 1 --pids-limit 64 --label com.belljar.instance=belljar-image-check \
		--tmpfs /workspace:exec,mode=1777,size=64m --tmpfs /tmp:mode=1777,size=64m \
		"$PYTHON_IMAGE" python3 - <tests/driver/image_check.py
}

# The other programs of tests/driver/ run on the machine itself, the image's check inside the image.
driver_tests() {
	for program in tests/driver/test_*.py tests/driver/test_*.sh; do
		[ -e "$program" ] || continue
		say "    $program"
		case $program in
		*.py) PYTHONDONTWRITEBYTECODE=1 python3 "$program" ;;
		*) sh "$program" ;;
		esac || return 1
	done
}

# Values that stand in nginx's files and scripts as well as in the service's table must be the same.
same_defaults() {
	for key in MAX_REQUEST_BYTES MAX_EXEC_TIMEOUT_MS QUEUE_TIMEOUT_MS; do
		value=$("$BUILD_DIR/belljar" -T | sed -n "s/^| .$key. | .\([0-9]*\). |.*/\1/p")
		grep -q "^$key=\${$key:-$value}\$" "$OPS_DIR/nginx.sh" || {
			say "src/ops/nginx.sh has another default for $key than the service ($value)"
			return 1
		}
	done
	value=$("$BUILD_DIR/belljar" -T | sed -n "s/^| .MAX_REQUEST_BYTES. | .\([0-9]*\). |.*/\1/p")
	grep -q "^client_max_body_size $value;" nginx/belljar_limits.conf || {
		say "nginx/belljar_limits.conf has another client_max_body_size than MAX_REQUEST_BYTES ($value)"
		return 1
	}
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
stage packages "$OPS_DIR/deps.sh" test
stage build run_make programs
stage layers "$OPS_DIR/layers.sh"
stage lint "$OPS_DIR/lint.sh"
stage unit run_make unit
stage fuzz-replay run_make fuzz-replay
stage nginx nginx_check
stage engine "$OPS_DIR/engine.sh" start
stage images "$OPS_DIR/images.sh" python
stage image-check image_check
stage driver driver_tests
stage system run_make system
[ "$VARIANT" = asan ] || stage unit-asan run_make VARIANT=asan unit

say "==> all stages passed in $(($(date +%s) - all_began)) s"
printf '%s' "$summary"
grep -hE '^[0-9]+%: Checks: ' "$LOGS"/*.log
