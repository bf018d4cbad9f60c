#!/bin/sh
# engine.sh start|stop|status: makes sure that a Docker engine answers.
#
# start does nothing where one answers already. Else it asks systemd where that runs the machine, and starts
# dockerd itself where it doesn't. stop ends only a dockerd that start has started. All of it copes with a
# machine on which every process was killed: pid files that name dead or foreign processes are removed first,
# because dockerd refuses to start beside a live pid in its file and would even kill the one in containerd's.
set -eu
. "$(dirname "$0")/common.sh"

ENGINE_DIR=${ENGINE_DIR:-/run/belljar-engine}
ENGINE_PID=$ENGINE_DIR/dockerd.pid
ENGINE_LOG=$LOG_DIR/dockerd.log
# A dockerd that was killed looks first at every container it had, and on a cold disk.
START_TENTHS=1800
# What Docker's own unit file gives it: containers inherit it.
ENGINE_FILES=1048576

answers() {
	timeout 10 docker version --format '{{.Server.Version}}' >/dev/null 2>&1
}

remote_host() {
	case ${DOCKER_HOST:-} in
	'' | unix:///var/run/docker.sock | unix:///run/docker.sock) return 1 ;;
	esac
}

drop_stale_pid() {
	[ -f "$1" ] || return 0
	process_is "$(cat "$1")" "$2" && return 0
	say "    removing stale $1"
	rm -f "$1"
}

# A machine without an init that mounts them has no control groups at all; dockerd then refuses to start.
mount_cgroups() {
	grep -q ' /sys/fs/cgroup' /proc/mounts && return 0
	mount -t cgroup2 none /sys/fs/cgroup
}

# Without this, mounts of dead containers below the data folder keep their layers busy.
drop_stale_mounts() {
	process_is "$(cat /var/run/docker.pid 2>/dev/null)" dockerd && return 0
	sed -n 's#^[^ ]* \(/run/docker/netns/[^ ]*\|/var/lib/docker/\(overlay2\|containers\)/[^ ]*\) .*#\1#p' \
		/proc/mounts | sort -r | while read -r point; do
		umount -l "$point" 2>/dev/null || true
	done
}

launch() {
	mkdir -p "$ENGINE_DIR" "$LOG_DIR"
	: >"$ENGINE_LOG"
	want_files "$ENGINE_FILES"
	# env -i: nothing of the caller's environment (proxies, certificates, job-control markers of a CI that
	# kills by environment) belongs to a daemon which outlives this script.
	detach env -i PATH="$PATH" HOME=/root dockerd "$@" </dev/null >>"$ENGINE_LOG" 2>&1 &
	echo $! >"$ENGINE_PID"
}

wait_ready() {
	left=$START_TENTHS
	while [ "$left" -gt 0 ]; do
		answers && return 0
		lives "$(cat "$ENGINE_PID")" || return 1
		sleep 0.2
		left=$((left - 2))
	done
	return 1
}

start_by_hand() {
	mount_cgroups
	drop_stale_pid /var/run/docker.pid dockerd
	drop_stale_pid /var/run/docker/containerd/containerd.pid containerd
	drop_stale_mounts
	if process_is "$(cat /var/run/docker.pid 2>/dev/null)" dockerd; then
		fail "a dockerd runs (pid $(cat /var/run/docker.pid)) but doesn't answer; end it, or see its log"
	fi
	launch
	wait_ready && return 0
	# Kernels without netfilter can't give containers a bridge. Jobs have no network anyway.
	if grep -qiE 'iptables|bridge|network controller' "$ENGINE_LOG"; then
		say "    no bridge network on this kernel: starting the engine without one"
		stop_process "$(cat "$ENGINE_PID")" 100
		drop_stale_pid /var/run/docker.pid dockerd
		launch --iptables=false --bridge=none
		wait_ready && return 0
	fi
	tail -n 15 "$ENGINE_LOG" >&2
	fail "dockerd didn't come up; its log is $ENGINE_LOG"
}

start() {
	if answers; then
		say "    Docker engine $(docker version --format '{{.Server.Version}}') answers"
		return 0
	fi
	remote_host && fail "no Docker engine answers at DOCKER_HOST=$DOCKER_HOST"
	need_root
	have dockerd || fail "dockerd is missing: run src/ops/deps.sh"
	if [ -d /run/systemd/system ]; then
		systemctl start docker
		timeout 60 sh -c 'until docker version >/dev/null 2>&1; do sleep 0.2; done' ||
			fail "systemd started docker but it doesn't answer: see journalctl -u docker"
	else
		start_by_hand
	fi
	say "    Docker engine $(docker version --format '{{.Server.Version}}') started"
}

stop() {
	pid=$(cat "$ENGINE_PID" 2>/dev/null || true)
	rm -f "$ENGINE_PID"
	process_is "$pid" dockerd || return 0
	stop_process "$pid" 300
	say "    Docker engine stopped"
}

case ${1:-} in
start) start ;;
stop) stop ;;
status) answers && say running || { say "not running"; exit 1; } ;;
*) fail "usage: engine.sh start|stop|status" ;;
esac
