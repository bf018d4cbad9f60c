# Shared by the scripts of this folder, which source it: where things are, and how progress is shown.
# Sets no option of the shell and starts nothing.

OPS_DIR=$(cd "$(dirname "$0")" && pwd)
ROOT_DIR=$(cd "$OPS_DIR/../.." && pwd)

# conf_lines: the settings of the file CONFIG as the service reads them, KEY=value without blanks around and quotes.
conf_lines() {
	sed -n -e 's/[[:space:]]*$//' -e 's/^[[:space:]]*\([A-Z_]*\)[[:space:]]*=[[:space:]]*/\1=/' \
		-e 's/^\([A-Z_]*\)="\(.*\)"$/\1=\2/' -e "s/^\([A-Z_]*\)='\(.*\)'\$/\1=\2/" -e '/^[A-Z_][A-Z_]*=/p' "$CONFIG"
}

# The scripts obey the settings file of the service too, the environment goes before it. What comes from the file stays out
# of the environment: there it would win over the file for as long as the service runs, whatever a reload finds.
if [ -n "${CONFIG:-}" ]; then
	if [ ! -r "$CONFIG" ] || [ -d "$CONFIG" ]; then
		printf 'error: CONFIG=%s cannot be read\n' "$CONFIG" >&2
		exit 1
	fi
	while IFS='=' read -r conf_key conf_value; do
		[ -z "$conf_key" ] || [ -n "$(printenv "$conf_key")" ] || eval "$conf_key=\$conf_value"
	done <<-LINES
		$(conf_lines)
	LINES
fi

VARIANT=${VARIANT:-release}
BUILD_DIR=$ROOT_DIR/build/$VARIANT
RUN_DIR=${RUN_DIR:-/run/belljar}
LOG_DIR=${LOG_DIR:-/var/log/belljar}
HOST=${HOST:-127.0.0.1}
PORT=${PORT:-8000}
SERVICE_USER=${SERVICE_USER:-belljar}
INSTANCE=${INSTANCE:-belljar}
PYTHON_IMAGE=${PYTHON_IMAGE:-belljar-python}
SERVICE_IMAGE=${SERVICE_IMAGE:-belljar}
NGINX_IMAGE=${NGINX_IMAGE:-belljar-nginx}

# /usr/sbin is missing from the PATH of many CI runners and cron jobs.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

# Images and folders made here are for other users as well, whatever the caller's mask is.
umask 022
# want_files N: room for N descriptors, or for as many as this root may have. The caller's limit may be far lower than what
# the engine, the service and the tests need.
want_files() {
	[ "$(ulimit -n)" = unlimited ] || [ "$(ulimit -n)" -ge "$1" ] || ulimit -n "$1" 2>/dev/null ||
		ulimit -S -n "$(ulimit -H -n)"
}
want_files 65536

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

# state_of PID: the letter of its state, empty when there is no such process.
state_of() {
	[ -n "$1" ] && sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null || true
}

# lives PID: neither gone nor a zombie.
lives() {
	case $(state_of "$1") in
	'' | Z | X) return 1 ;;
	esac
}

# process_is PID NAME: does PID live and is it a NAME? A pid file alone says nothing after a crash: the number may be a
# zombie's, or belong to something else by now.
process_is() {
	lives "$1" || return 1
	[ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ]
}

# wait_gone PID TENTHS: waits until PID has ended, at most TENTHS tenths of a second.
wait_gone() {
	wait_left=$2
	while [ "$wait_left" -gt 0 ]; do
		lives "$1" || return 0
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

# labelled_containers: ids of the containers that this instance of the service has made, running or not.
labelled_containers() {
	docker ps -aq --filter "label=com.belljar.instance=$INSTANCE" 2>/dev/null
}

# detach COMMAND...: becomes COMMAND without the caller's session, and without descriptors that a make or a CI may have handed
# down: they wait until the last holder of such a pipe has ended. For the background, with all three streams redirected.
detach() {
	exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
	exec setsid nohup "$@"
}

# drop_containers: removes what this instance has left on the engine.
drop_containers() {
	labelled_containers | xargs -r docker rm -f -v >/dev/null
}

# drop_volumes LABEL: guest volumes with that label. Their names are hashes of their content, so instances of one version share
# one, labelled by the first. The engine refuses to remove what a container mounts; a service makes a missing one anew.
drop_volumes() {
	docker volume ls -q --filter label=com.belljar.role=guest --filter "label=$1" 2>/dev/null |
		xargs -r docker volume rm >/dev/null 2>&1 || true
}
