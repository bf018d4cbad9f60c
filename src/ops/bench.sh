#!/bin/sh
# bench.sh [ROUNDS]: starts a service and an nginx of its own, measures them beside the bare engine and beside a plain nginx,
# in one run, and ends them. It needs no service to run and disturbs none that does, but for the machine's time.
set -eu
RUN_DIR=${RUN_DIR:-/run/belljar-bench}
PORT=${PORT:-8019}
PLAIN_PORT=${PLAIN_PORT:-8018}
INSTANCE=${INSTANCE:-belljar-bench}
# Stored files, the bodies that both nginxes take in, and the copies: on one file system, or their times say nothing.
BENCH_DIR=${BENCH_DIR:-/var/lib/belljar-bench}
FILE_STORAGE_DIR=$BENCH_DIR/files
NGINX_DIR=$BENCH_DIR/nginx
PLAIN_DIR=$BENCH_DIR/plain
STOP_TENTHS=100
export RUN_DIR PORT INSTANCE FILE_STORAGE_DIR NGINX_DIR STOP_TENTHS
. "$(dirname "$0")/common.sh"

ROUNDS=${1:-40}

finish() {
	stop_plain || true
	"$OPS_DIR/nginx.sh" stop || true
	"$OPS_DIR/service.sh" stop || true
	drop_containers || true
	drop_volumes "com.belljar.instance=$INSTANCE"
	rm -rf "$RUN_DIR" "$BENCH_DIR"
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
start_plain
"$BUILD_DIR/bench/bench" "http://$HOST:$PORT/v1/execute" "$ROUNDS" "$BUILD_DIR" "$PYTHON_IMAGE"
"$BUILD_DIR/bench/upload" "http://$HOST:$PORT/v1/files" "http://$HOST:$PLAIN_PORT" "$PLAIN_DIR/put" "$ROUNDS"
