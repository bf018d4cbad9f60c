#!/bin/sh
# bench.sh [ROUNDS [SECONDS]]: starts services and an nginx of its own, measures them beside the bare engine, the host and a
# plain nginx, in one run, and ends them. ROUNDS of each kind, SECONDS of load for each side at each concurrency; with 15 and 10
# it takes about three minutes. It needs no service to run and disturbs none that does, but for the machine's time.
set -eu
RUN_DIR=${RUN_DIR:-/run/belljar-bench}
PORT=${PORT:-8019}
PLAIN_PORT=${PLAIN_PORT:-8018}
AHEAD_PORT=${AHEAD_PORT:-8017}
INSTANCE=${INSTANCE:-belljar-bench}
# Stored files, the bodies that both nginxes take in, and the copies: on one file system, or their times say nothing.
BENCH_DIR=${BENCH_DIR:-/var/lib/belljar-bench}
FILE_STORAGE_DIR=$BENCH_DIR/files
NGINX_DIR=$BENCH_DIR/nginx
PLAIN_DIR=$BENCH_DIR/plain
STOP_TENTHS=100
# Every measurement waits until that many containers are ready.
POOL_SIZE=${POOL_SIZE:-4}
export RUN_DIR PORT INSTANCE FILE_STORAGE_DIR NGINX_DIR STOP_TENTHS POOL_SIZE
. "$(dirname "$0")/common.sh"

ROUNDS=${1:-15}
SECONDS_EACH=${2:-10}
URL=http://$HOST:$PORT
# The label of what the programs make without the service (tests/bench/floor.h).
FLOOR_INSTANCE=belljar-bench-floor

finish() {
	stop_plain || true
	ahead nginx.sh stop || true
	ahead service.sh stop || true
	"$OPS_DIR/nginx.sh" stop || true
	"$OPS_DIR/service.sh" stop || true
	for INSTANCE in "$INSTANCE" "$INSTANCE-ahead" "$FLOOR_INSTANCE"; do
		drop_containers || true
		drop_volumes "com.belljar.instance=$INSTANCE"
	done
	rm -rf "$RUN_DIR" "$RUN_DIR-ahead" "$BENCH_DIR"
}

# ahead SCRIPT COMMAND: the second service, whose waiting Pythons have imported modules already.
ahead() {
	env RUN_DIR="$RUN_DIR-ahead" PORT="$AHEAD_PORT" INSTANCE="$INSTANCE-ahead" PYTHON_PREIMPORT=numpy,pandas \
		FILE_STORAGE_DIR="$BENCH_DIR/files-ahead" NGINX_DIR="$BENCH_DIR/nginx-ahead" "$OPS_DIR/$1" "$2"
}

# engine_pid: of the engine on this machine; 0 when it is elsewhere or of another kind.
engine_pid() {
	pid=$(cat /var/run/docker.pid 2>/dev/null || true)
	process_is "$pid" dockerd || pid=0
	say "$pid"
}

# host_python: the system's, as in the image. Another's start may be a script that looks for it, or load what was installed.
host_python() {
	for candidate in /usr/bin/python3 "$(command -v python3 || true)"; do
		[ -x "$candidate" ] && say "$candidate" && return 0
	done
	fail "there is no python3 to compare with"
}

# An nginx that does nothing with a body but put it into a file: below default/ with nginx's own settings, below buffer/
# with the buffer of nginx/.
plain_conf() {
	user=$(sed -n 's/^user //p' "$NGINX_DIR/conf/nginx.conf")
	buffer=$(sed -n 's/^client_body_buffer_size //p' "$NGINX_DIR/conf/belljar_limits.conf")
	cat <<-END
		user $user
		worker_processes auto;
		pid nginx.pid;
		error_log error.log warn;
		events { worker_connections 1024; }
		http {
			access_log off;
			client_body_temp_path tmp;
			proxy_temp_path unused;
			fastcgi_temp_path unused;
			uwsgi_temp_path unused;
			scgi_temp_path unused;
			client_max_body_size 1g;
			sendfile on;
			server {
				listen $HOST:$PLAIN_PORT;
				root put;
				location /default/ { dav_methods PUT; }
				location /buffer/ { dav_methods PUT; client_body_buffer_size $buffer }
			}
		}
	END
}

start_plain() {
	mkdir -p "$PLAIN_DIR/put/default" "$PLAIN_DIR/put/buffer"
	plain_conf >"$PLAIN_DIR/nginx.conf"
	user=$(sed -n 's/^user \([^ ;]*\).*/\1/p' "$PLAIN_DIR/nginx.conf")
	chown "$user" "$PLAIN_DIR/put/default" "$PLAIN_DIR/put/buffer"
	(detach nginx -p "$PLAIN_DIR/" -c "$PLAIN_DIR/nginx.conf" -e "$PLAIN_DIR/error.log") </dev/null >"$PLAIN_DIR/start.log" 2>&1 ||
		fail "the plain nginx didn't start: $(tail -n 1 "$PLAIN_DIR/start.log")"
}

stop_plain() {
	[ -s "$PLAIN_DIR/nginx.pid" ] || return 0
	stop_process "$(cat "$PLAIN_DIR/nginx.pid")" 50
}

need_root
"$OPS_DIR/engine.sh" start
"$OPS_DIR/images.sh" python
trap finish EXIT
trap 'exit 1' INT TERM HUP
mkdir -p "$BENCH_DIR"
"$OPS_DIR/service.sh" start
"$OPS_DIR/nginx.sh" start
ahead service.sh start
ahead nginx.sh start
python=$(host_python)
bench=$BUILD_DIR/bench
"$bench/hello" "$URL" "http://$HOST:$AHEAD_PORT" "$POOL_SIZE" "$ROUNDS" "$BUILD_DIR" "$PYTHON_IMAGE" "$python"
ahead nginx.sh stop
ahead service.sh stop
master=$("$OPS_DIR/service.sh" status)
"$bench/memory" "$URL" "$POOL_SIZE" "$master" "$(cat "$NGINX_DIR/nginx.pid")" "$INSTANCE"
"$bench/rate" "$URL" "$INSTANCE" "$POOL_SIZE" "$SECONDS_EACH" "$BUILD_DIR" "$PYTHON_IMAGE"
"$bench/flood" "$URL" "$POOL_SIZE" "$ROUNDS" "$python" "$master" "$(engine_pid)"
start_plain
"$bench/transfer" "$URL/v1/files" "http://$HOST:$PLAIN_PORT" "$PLAIN_DIR/put" "$ROUNDS"
