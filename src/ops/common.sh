# Shared by the scripts of this folder, which source it: where things are, and how progress is shown.
# Sets no option of the shell and starts nothing.

OPS_DIR=$(cd "$(dirname "$0")" && pwd)
ROOT_DIR=$(cd "$OPS_DIR/../.." && pwd)

VARIANT=${VARIANT:-release}
BUILD_DIR=$ROOT_DIR/build/$VARIANT
RUN_DIR=${RUN_DIR:-/run/belljar}
LOG_DIR=${LOG_DIR:-/var/log/belljar}
HOST=${HOST:-127.0.0.1}
PORT=${PORT:-8000}
SERVICE_USER=${SERVICE_USER:-belljar}
PYTHON_IMAGE=${PYTHON_IMAGE:-belljar-python}
SERVICE_IMAGE=${SERVICE_IMAGE:-belljar}
NGINX_IMAGE=${NGINX_IMAGE:-belljar-nginx}

# /usr/sbin is missing from the PATH of many CI runners and cron jobs.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

say() {
	printf '%s\n' "$*"
}

step() {
	printf '==> %s\n' "$*"
}

fail() {
	printf 'error: %s\n' "$*" >&2
	exit 1
}

need_root() {
	[ "$(id -u)" = 0 ] || fail "this must run as root (it installs packages, starts Docker and opens $RUN_DIR)"
}

have() {
	command -v "$1" >/dev/null 2>&1
}

# process_is PID NAME: is PID alive and is it a NAME? A pid file alone says nothing after a crash: the
# number may belong to something else by now.
process_is() {
	[ -n "$1" ] && [ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ]
}

# wait_gone PID TENTHS: waits until PID has ended, at most TENTHS tenths of a second.
wait_gone() {
	wait_left=$2
	while [ "$wait_left" -gt 0 ]; do
		case $(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null) in
		'' | Z) return 0 ;;
		esac
		sleep 0.1
		wait_left=$((wait_left - 1))
	done
	return 1
}

# stop_process PID TENTHS: TERM, then KILL if it is still there after TENTHS tenths of a second.
stop_process() {
	kill -TERM "$1" 2>/dev/null || return 0
	wait_gone "$1" "$2" && return 0
	kill -KILL "$1" 2>/dev/null || return 0
	wait_gone "$1" 20
}

# labelled_containers: ids of every container that the service on this engine has made.
labelled_containers() {
	docker ps -aq --filter label=com.belljar.owner 2>/dev/null
}
