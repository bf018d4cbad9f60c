#!/bin/sh
# layers.sh: fails if a folder of src/ includes from one that it may not know, or a library that belongs to another.
set -eu
. "$(dirname "$0")/common.sh"
cd "$ROOT_DIR/src"

# folder: the folders whose headers it may include. conf.h and limits.h are open to all.
RULES='base:base wire:base,wire web:base,wire,web store:base,wire,store docker:base,wire,docker box:base,wire,box
	api:base,wire,web,store,box,api proc:base,wire,web,store,docker,box,api,proc'

# header: the only places that may include it (as the path of the including file begins).
OWNERS='fcgiapp.h:web/ fcgi_stdio.h:nobody curl/curl.h:docker/ magic.h:store/'

broken=0
report() {
	say "$1: $2"
	broken=1
}

# includes FILE: "line header" of each quoted include.
includes() {
	sed -n 's/^[ \t]*#[ \t]*include[ \t]*[<"]\([^>"]*\)[>"].*/\1/p' "$1"
}

check_folder() {
	for file in "$1"/*.[ch]; do
		[ -e "$file" ] || continue
		for header in $(includes "$file" | grep / || true); do
			folder=${header%%/*}
			[ -d "$folder" ] || [ "$folder" = .. ] || continue
			case ,$2, in
			*,"$folder",*) ;;
			*) report "$file" "$1/ may not include $header" ;;
			esac
		done
	done
}

check_guest() {
	for file in guest/*.[ch]; do
		[ -e "$file" ] || continue
		for header in $(includes "$file" | grep / || true); do
			case $header in
			guest/* | wire/frame.h | base/base.h) continue ;;
			*) [ ! -d "${header%%/*}" ] || report "$file" "guest/ may not include $header" ;;
			esac
		done
	done
}

# Only these may hold Docker; a worker that could include it would be one mistake away from the socket.
check_docker_users() {
	for file in *.[ch] */*.[ch]; do
		case $file in docker/* | proc/keeper* | proc/filler*) continue ;; esac
		for header in $(includes "$file" | grep '^docker/' || true); do
			report "$file" "only proc/keeper* and proc/filler* may include $header"
		done
	done
}

check_owners() {
	for file in *.[ch] */*.[ch]; do
		for rule in $OWNERS; do
			includes "$file" | grep -qx "${rule%%:*}" || continue
			case $file in "${rule#*:}"*) ;; *) report "$file" "${rule%%:*} belongs to ${rule#*:}" ;; esac
		done
	done
}

for rule in $RULES; do
	check_folder "${rule%%:*}" "${rule#*:}"
done
check_guest
check_docker_users
check_owners
[ "$broken" = 0 ] || fail "the layer rule of src/README.md is broken"
say "    layers hold"
