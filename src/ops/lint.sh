#!/bin/sh
# lint.sh: sizes, line lengths, forbidden functions and formatting of the C sources.
set -eu
. "$(dirname "$0")/common.sh"
cd "$ROOT_DIR"

MAX_FUNCTION=70
MAX_FILE=400
MAX_COLUMNS=110
# Versions of clang-format disagree about a few lines; Debian 12's is the one that decides.
FORMAT_MAJOR=14
FORBIDDEN='strcpy strcat strncpy strncat sprintf vsprintf strtok atoi atol atoll gets gmtime localtime ctime
	mktemp tmpnam system popen alloca'

broken=0
sources=$(find src tests -name '*.[ch]' | LC_ALL=C sort)
[ -n "$sources" ] || exit 0

# check HEADING FINDINGS: findings are lines; none is good.
check() {
	[ -n "$2" ] || return 0
	say "$1:"
	printf '%s\n' "$2" | head -n 40
	broken=1
}

long_lines() {
	for file in $sources; do
		expand -t 8 "$file" | awk -v f="$file" -v max=$MAX_COLUMNS 'length > max { print f ":" NR ": " length " columns" }'
	done
}

long_files() {
	wc -l $sources | awk -v max=$MAX_FILE '$2 != "total" && $1 > max { print $2 ": " $1 " lines" }'
}

long_functions() {
	ctags -f - --languages=C --map-C=+.h --kinds-C=f --fields=+ne $sources | awk -F'\t' -v max=$MAX_FUNCTION '
		{ first = last = 0
		  for (i = 4; i <= NF; i++) { split($i, p, ":"); if (p[1] == "line") first = p[2]; if (p[1] == "end") last = p[2] }
		  if (last - first + 1 > max) print $2 ":" first ": " $1 " has " last - first + 1 " lines" }'
}

forbidden_calls() {
	words=$(printf '%s' "$FORBIDDEN" | tr -s ' \n\t' '|')
	# base.h is where they are poisoned, and comments may name them.
	grep -nE "(^|[^A-Za-z0-9_>.\"])($words)[ ]?\(" $sources | grep -vE '^src/base/base\.h:|^[^:]*:[0-9]*:[ \t]*(\*|/[*/])' || true
}

unfinished() {
	grep -nwE 'TODO|FIXME|XXX' $sources || true
}

formatting() {
	clang-format -style=file --dry-run $sources 2>&1 | sed -n 's/^\([^:]*\):[0-9].*-Wclang-format-violations.*/\1/p' |
		uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/\2: \1 places are not formatted (make format)/'
}

check "lines over $MAX_COLUMNS columns" "$(long_lines)"
check "files over $MAX_FILE lines" "$(long_files)"
check "functions over $MAX_FUNCTION lines" "$(long_functions)"
check "forbidden functions (src/base/base.h says what to use)" "$(forbidden_calls)"
check "unfinished work" "$(unfinished)"
if clang-format --version 2>/dev/null | grep -q "version $FORMAT_MAJOR\."; then
	check "formatting" "$(formatting)"
else
	say "    formatting not checked: that needs clang-format $FORMAT_MAJOR, here is $(clang-format --version 2>/dev/null || echo none)"
fi
[ "$broken" = 0 ] || fail "lint found something"
say "    $(printf '%s\n' $sources | wc -l) files are clean"
