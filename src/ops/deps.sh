#!/bin/sh
# deps.sh [run|test|fuzz]: installs what is missing from Debian's packages. Works on Debian 12 and 13, with or without an init.
#
# Packages are asked for by what they provide (a command, a pkg-config module, a file), so that a Docker or
# nginx from elsewhere is left alone. No service of theirs is started: nginx would take port 80.
set -eu
. "$(dirname "$0")/common.sh"

POLICY=/usr/sbin/policy-rc.d
LOCK_SECONDS=300

missing=

add() {
	missing="$missing $1"
}

want_command() {
	have "$1" || add "$2"
}

want_module() {
	have pkg-config && pkg-config --exists "$1" || add "$2"
}

want_file() {
	[ -e "$1" ] || add "$2"
}

list_run() {
	want_command gcc gcc
	want_command make make
	want_command pkg-config pkg-config
	want_file /usr/include/stdio.h libc6-dev
	want_file /usr/include/fcgiapp.h libfcgi-dev
	want_file /usr/include/magic.h libmagic-dev
	want_module json-c libjson-c-dev
	want_module libcurl libcurl4-openssl-dev
	want_module libseccomp libseccomp-dev
	want_module libarchive libarchive-dev
	want_module nettle nettle-dev
	want_command musl-gcc musl-tools
	want_command nginx nginx-light
	if ! have docker || { ! have dockerd && [ -z "${DOCKER_HOST:-}" ]; }; then
		add docker.io
		# Since Debian 13 the client is a package of its own.
		apt-cache show docker-cli >/dev/null 2>&1 && add docker-cli
	fi
	want_command iptables iptables
	want_command debootstrap debootstrap
	want_file /usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring
	want_file /etc/ssl/certs/ca-certificates.crt ca-certificates
	want_command curl curl
	want_command xz xz-utils
	want_command ps procps
	want_command useradd passwd
}

list_test() {
	want_module check check
	want_command fcgiwrap fcgiwrap
	want_command ctags universal-ctags
	# The version that decides is Debian 12's; lint says when it has another.
	[ "$(debian_release)" != 12 ] || want_command clang-format clang-format
	want_command python3 python3
	# The pages are tested in a browser.
	want_command chromium chromium
	want_command chromedriver chromium-driver
}

list_fuzz() {
	want_command clang clang
	have clang && [ -e "$(clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a")" ] || add libclang-rt-dev
}

debian_release() {
	sed -n 's/^VERSION_ID="\{0,1\}\([0-9]*\).*/\1/p' /etc/os-release
}

have_lists() {
	ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1
}

apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o "DPkg::Lock::Timeout=$LOCK_SECONDS" \
		-o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "$@" </dev/null
}

# Maintainer scripts start services unless this file forbids it; one that an operator has put there stays.
forbid_services() {
	[ -e "$POLICY" ] && return 0
	printf '#!/bin/sh\nexit 101\n' >"$POLICY"
	chmod 755 "$POLICY"
	trap 'rm -f "$POLICY"' EXIT
	trap 'exit 1' INT TERM HUP
}

# Where systemd runs the machine: the engine is its business (policy-rc.d has held it back), nginx and fcgiwrap are started by
# us alone, with folders and ports of our own.
settle_systemd() {
	[ -d /run/systemd/system ] || return 0
	case $missing in *docker.io*) systemctl enable -q docker 2>/dev/null || true ;; esac
	case $missing in *nginx-light*) systemctl disable -q nginx 2>/dev/null || true ;; esac
	case $missing in *fcgiwrap*) systemctl disable -q fcgiwrap.socket fcgiwrap.service 2>/dev/null || true ;; esac
}

collect() {
	missing=
	list_run
	case $1 in
	test) list_test ;;
	fuzz) list_test && list_fuzz ;;
	esac
}

have apt-get || fail "this needs Debian's apt-get"
have_lists || { [ "$(id -u)" != 0 ] || apt update; }
collect "${1:-run}"
if [ -z "$missing" ]; then
	say "    all packages are there"
	exit 0
fi
need_root
say "    installing$missing"
forbid_services
# shellcheck disable=SC2086
if ! apt install --no-install-recommends $missing; then
	say "    trying again with fresh package lists"
	apt update
	apt install --no-install-recommends $missing
fi
settle_systemd
# pkg-config modules could not be asked before pkg-config was there: look once more.
collect "${1:-run}"
[ -z "$missing" ] || apt install --no-install-recommends $missing
