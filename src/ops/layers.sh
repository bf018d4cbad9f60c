#!/bin/sh
# layers.sh: fails if a folder of src/ includes from one that it may not know, or a library that belongs to another.
set -eu
. "$(dirname "$0")/common.sh"
cd "$ROOT_DIR/src"

# folder: the folders whose headers it may include. conf.h, limits.h and metrics.h are open to all.
RULES='base:base wire:base,wire web:base,wire,web store:base,wire,store docker:base,wire,docker box:base,wire,box
	api:base,wire,web,store,box,api proc:base,wire,web,store,docker,box,api,proc'

# The guest runs beside hostile code, so it takes these two headers and nothing else from outside of its folder.
GUEST='wire/frame.h base/base.h'

# header: the only place that may include it (how the path of the including file begins).
OWNERS='fcgiapp.h:web/ fcgi_stdio.h:nobody curl/curl.h:docker/ magic.h:store/ nettle/sha2.h:wire/'

# Only these may hold Docker; a worker that could include it would be one mistake away from the socket.
DOCKER_USERS='^(docker/|proc/keeper|proc/filler)'

# "file header" of each include in src/.
includes() {
	find . -name '*.[ch]' | sed 's#^\./##' | LC_ALL=C sort | xargs awk '
		/^[ \t]*#[ \t]*include[ \t]*[<"]/ { split($0, part, /[<">]/); print FILENAME, part[2] }'
}

folders() {
	find . -mindepth 1 -maxdepth 1 -type d | sed 's#^\./##' | tr '\n' ' '
}

broken=$(includes | awk -v rules="$RULES" -v guest="$GUEST" -v owners="$OWNERS" -v docker_users="$DOCKER_USERS" \
	-v folders="$(folders)" '
	function top(path) { return index(path, "/") ? substr(path, 1, index(path, "/") - 1) : "" }
	BEGIN {
		n = split(rules, rule, /[ \t\n]+/)
		for (i = 1; i <= n; i++) { split(rule[i], pair, ":"); may[pair[1]] = "," pair[2] "," }
		n = split(guest, rule, " ")
		for (i = 1; i <= n; i++) for_guest[rule[i]] = 1
		n = split(owners, rule, " ")
		for (i = 1; i <= n; i++) { split(rule[i], pair, ":"); owner[pair[1]] = pair[2] }
		n = split(folders, rule, " ")
		for (i = 1; i <= n; i++) ours[rule[i]] = 1
		ours[".."] = 1
	}
	{
		file = $1; header = $2; from = top(file); to = top(header)
		if (from == "guest" && (to in ours) && to != "guest" && !(header in for_guest))
			print file ": guest/ may not include " header
		if ((from in may) && (to in ours) && index(may[from], "," to ",") == 0)
			print file ": " from "/ may not include " header
		if (to == "docker" && file !~ docker_users)
			print file ": only proc/keeper* and proc/filler* may include " header
		if ((header in owner) && index(file, owner[header]) != 1)
			print file ": " header " belongs to " owner[header]
	}')
[ -z "$broken" ] || { say "$broken"; fail "the layer rule of src/README.md is broken"; }
say "    layers hold"
