#!/bin/sh
# run.sh start|stop: `make run` and `make stop`.
#
# start takes a bare Debian machine to a service that has run its first job: packages, build, Docker engine, image, service,
# nginx. Every step looks first whether there is anything to do, so it may be run at any time. stop ends what start has
# started, and the engine only if that was start's too.
set -eu
. "$(dirname "$0")/common.sh"

ADDRESS=http://$HOST:$PORT
READY_TENTHS=600

began=$(date +%s)

stage() {
	step "[$(($(date +%s) - began)) s] $*"
}

get() {
	curl -sS --noproxy '*' --max-time 90 "$@"
}

wait_answer() {
	left=$READY_TENTHS
	while [ "$left" -gt 0 ]; do
		get -f -o /dev/null "$ADDRESS/ready" 2>/dev/null && return 0
		sleep 0.2
		left=$((left - 2))
	done
	say "    what the service says of the engine:"
	get "$ADDRESS/v1/docker/status" || true
	fail "the service isn't ready after $((READY_TENTHS / 10)) s; its log is in $LOG_DIR"
}

first_job() {
	answer=$(get -H 'Content-Type: application/json' \
		-d '{"code": "print('"'hello from belljar'"')"}' "$ADDRESS/v1/execute") ||
		fail "no answer from $ADDRESS/v1/execute"
	say "$answer"
	case $answer in
	*'hello from belljar'*) ;;
	*) fail "the first job didn't print what it should" ;;
	esac
}

# member NAME: the value of the first member of that name in the JSON on stdin, if it is a string.
member() {
	sed -n 's/.*"'"$1"'": *"\([^"]*\)".*/\1/p' | head -n 1
}

drop_file() {
	[ -z "$1" ] || get -X DELETE "$ADDRESS/v1/files/$1" >/dev/null || true
}

# A file goes up, through a job, and comes back. Settings and a full store may forbid it, which the answer says.
first_file() {
	answer=$(printf 'a,b\n1,2\n' | get -F 'file=@-;filename=data.csv' "$ADDRESS/v1/files") ||
		fail "no answer from $ADDRESS/v1/files"
	say "$answer"
	given=$(say "$answer" | member file_id)
	if [ -z "$given" ]; then
		say "    no file was stored, as the service says"
		return 0
	fi
	answer=$(get -H 'Content-Type: application/json' -d '{"files": [{"path": "in/data.csv", "file_id": "'"$given"'"}],
		"code": "open('"'out.csv', 'w').write(open('in/data.csv').read().upper()"')"}' "$ADDRESS/v1/execute") ||
		fail "no answer from $ADDRESS/v1/execute"
	say "$answer"
	# Only the new file has an id in the answer.
	made=$(say "$answer" | member file_id)
	[ -z "$made" ] || back=$(get "$ADDRESS/v1/files/$made")
	drop_file "$given"
	drop_file "$made"
	if [ -z "$made" ]; then
		say "    no file came back, as the service says"
	elif [ "$back" != "$(printf 'A,B\n1,2')" ]; then
		fail "the file of the first job didn't come back as it was written"
	fi
}

# What `make stop` must be told too: the settings that say which service is meant.
own_settings() {
	[ -z "${CONFIG:-}" ] || printf 'CONFIG=%s ' "$CONFIG"
	[ "$RUN_DIR" = /run/belljar ] || printf 'RUN_DIR=%s ' "$RUN_DIR"
	[ "$INSTANCE" = belljar ] || printf 'INSTANCE=%s ' "$INSTANCE"
}

addresses() {
	cat <<-TXT

		Belljar runs.
		  in a browser    $ADDRESS/
		  run a program   curl -d '{"code": "print(6 * 7)"}' -H 'Content-Type: application/json' $ADDRESS/v1/execute
		  store a file    curl -F file=@name $ADDRESS/v1/files
		  health          $ADDRESS/health
		  engine          $ADDRESS/v1/docker/status
		  logs            $LOG_DIR and $RUN_DIR/nginx/logs
		  end it all      $(own_settings)make stop
	TXT
}

start() {
	need_root
	"$OPS_DIR/nginx.sh" port
	stage "packages"
	"$OPS_DIR/deps.sh" run
	stage "build ($VARIANT)"
	make -C "$ROOT_DIR" --no-print-directory -j "$(nproc)" VARIANT="$VARIANT" WERROR= all
	stage "Docker engine"
	"$OPS_DIR/engine.sh" start
	stage "image $PYTHON_IMAGE"
	"$OPS_DIR/images.sh" python
	stage "service"
	"$OPS_DIR/service.sh" start
	stage "nginx on $HOST:$PORT"
	"$OPS_DIR/nginx.sh" start
	wait_answer
	stage "first job"
	first_job
	stage "first file"
	first_file
	stage "done"
	addresses
}

# engine_wanted: containers run, or another service may want some at any time.
engine_wanted() {
	[ -z "$(docker ps -q)" ] || return 0
	for comm in $(grep -lsx belljar /proc/[0-9]*/comm); do
		comm=${comm%/comm}
		lives "${comm#/proc/}" && return 0
	done
	return 1
}

stop() {
	need_root
	step "nginx"
	"$OPS_DIR/nginx.sh" stop
	step "service"
	"$OPS_DIR/service.sh" stop
	if have docker && "$OPS_DIR/engine.sh" status >/dev/null; then
		step "containers and volumes"
		drop_containers
		drop_volumes "com.belljar.instance=$INSTANCE"
		if engine_wanted; then
			say "    others use the engine: it stays"
			return 0
		fi
		drop_volumes com.belljar.owner=belljar
	fi
	step "Docker engine"
	"$OPS_DIR/engine.sh" stop
}

case ${1:-} in
start) start ;;
stop) stop ;;
*) fail "usage: run.sh start|stop" ;;
esac
