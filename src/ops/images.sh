#!/bin/sh
# images.sh [python] [service] [nginx]: builds the images that are missing or older than their sources.
#
# Images start from debian:trixie-slim. Where that can't be pulled, debootstrap makes it under the same name
# from Debian's packages. Each image carries a hash of its sources as a label, so a second run does nothing;
# FORCE=1 builds anyway. PANDAS_TA=1 adds pandas_ta to the Python image (with pip, not from Debian).
set -eu
. "$(dirname "$0")/common.sh"

BASE=debian:trixie-slim
SUITE=trixie
# A registry that drops packets must not hold the build for the client's own quarter of an hour.
PULL_SECONDS=90
VERSION=$(sed -n 's/^#define API_VERSION "\(.*\)".*/\1/p' "$ROOT_DIR/src/api/api.h")
VERSION=${VERSION:-unknown}

# Engines whose client has no buildx plugin keep the builder that is part of the engine.
if ! docker buildx version >/dev/null 2>&1; then
	DOCKER_BUILDKIT=0
	export DOCKER_BUILDKIT
fi

base_present() {
	docker image inspect "$BASE" >/dev/null 2>&1
}

# debootstrap for a suite newer than itself: the scripts of all later Debian releases are one file.
provide_script() {
	scripts=/usr/share/debootstrap/scripts
	[ -e "$scripts/$SUITE" ] || ln -s sid "$scripts/$SUITE"
}

drop_tree() {
	grep -o " $1/[^ ]* " /proc/mounts | sort -r | while read -r point; do umount -l "$point" || true; done
	rm -rf --one-file-system "$1"
}

make_base() {
	need_root
	have debootstrap || fail "debootstrap is missing: run src/ops/deps.sh"
	provide_script
	tree=$(mktemp -d "${TMPDIR:-/var/tmp}/belljar-base.XXXXXX")
	trap 'drop_tree "$tree"' EXIT
	trap 'exit 1' INT TERM HUP
	debootstrap --variant=minbase "$SUITE" "$tree" </dev/null || {
		tail -n 20 "$tree/debootstrap/debootstrap.log" >&2 2>/dev/null || true
		fail "debootstrap could not make $BASE"
	}
	rm -rf "$tree"/var/cache/apt/archives/*.deb "$tree"/var/lib/apt/lists/* "$tree"/var/log/*
	tar -C "$tree" --numeric-owner -c . | docker import --change 'CMD ["bash"]' - "$BASE" >/dev/null
	trap - EXIT
	drop_tree "$tree"
}

provide_base() {
	base_present && return 0
	say "    pulling $BASE"
	timeout "$PULL_SECONDS" docker pull -q "$BASE" </dev/null >/dev/null 2>&1 && return 0
	say "    can't be pulled: making it with debootstrap (about a minute)"
	make_base
}

# sources_hash FILES...: changes whenever a file, its name or a build argument does.
sources_hash() {
	(cd "$ROOT_DIR" && find "$@" -type f | LC_ALL=C sort | xargs sha256sum; echo "${PANDAS_TA:-0}") |
		sha256sum | cut -c 1-16
}

# build NAME DOCKERFILE CONTEXT FILES...: the FILES decide whether NAME is out of date.
build() {
	name=$1 dockerfile=$2 context=$3
	shift 3
	hash=$(sources_hash "$@")
	present=$(docker image inspect -f '{{index .Config.Labels "com.belljar.image.sources"}}' "$name" 2>/dev/null || true)
	if [ "$present" = "$hash" ] && [ "${FORCE:-0}" != 1 ]; then
		say "    $name is up to date"
		return 0
	fi
	provide_base
	say "    building $name"
	began=$(date +%s)
	# The host's network: apt in the build needs neither the engine's bridge nor its address translation.
	docker build --force-rm --network host -t "$name" -f "$dockerfile" --build-arg "PANDAS_TA=${PANDAS_TA:-0}" \
		--build-arg "VERSION=$VERSION" --build-arg "SOURCES=$hash" \
		--build-arg "CREATED=$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$context" </dev/null
	say "    $name built in $(($(date +%s) - began)) s"
}

cd "$ROOT_DIR"
for image in "${@:-python}"; do
	case $image in
	python)
		build "$PYTHON_IMAGE" src/images/python/Dockerfile src/images/python src/images/python
		;;
	service)
		build "$SERVICE_IMAGE" src/images/service/Dockerfile . Makefile src/*.[ch] src/base src/wire src/web src/store src/docker \
			src/box src/api src/proc src/guest nginx src/images/service
		;;
	nginx)
		build "$NGINX_IMAGE" src/images/nginx/Dockerfile . nginx www src/images/nginx src/ops/nginx.sh src/ops/common.sh
		;;
	*) fail "usage: images.sh [python] [service] [nginx]" ;;
	esac
done
