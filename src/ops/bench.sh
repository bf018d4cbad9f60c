#!/bin/sh
# bench.sh [ROUNDS]: starts a service and an nginx of its own, measures them and the bare engine in one run, ends them.
# It needs no service to run and disturbs none that does, but for the machine's time.
set -eu
RUN_DIR=${RUN_DIR:-/run/belljar-bench}
PORT=${PORT:-8019}
INSTANCE=${INSTANCE:-belljar-bench}
FILE_STORAGE_DIR=${FILE_STORAGE_DIR:-/var/lib/belljar-bench}
STOP_TENTHS=100
export RUN_DIR PORT INSTANCE FILE_STORAGE_DIR STOP_TENTHS
. "$(dirname "$0")/common.sh"

ROUNDS=${1:-40}

finish() {
	"$OPS_DIR/nginx.sh" stop || true
	"$OPS_DIR/service.sh" stop || true
	drop_containers || true
	drop_volumes "com.belljar.instance=$INSTANCE"
	rm -rf "$RUN_DIR" "$FILE_STORAGE_DIR"
}

need_root
"$OPS_DIR/engine.sh" start
"$OPS_DIR/images.sh" python
trap finish EXIT
trap 'exit 1' INT TERM HUP
"$OPS_DIR/service.sh" start
"$OPS_DIR/nginx.sh" start
for program in "$BUILD_DIR"/bench/*; do
	"$program" "http://$HOST:$PORT/v1/execute" "$ROUNDS" "$BUILD_DIR" "$PYTHON_IMAGE"
done
