#!/bin/sh
# nginx.sh port|render|start|stop|foreground: the nginx in front of the service, with this repository's nginx/ files.
#
# render copies them into $NGINX_DIR/conf and puts the settings in place of the defaults that stand there (HOST, PORT,
# SERVER_NAMES, RUN_DIR, FILE_STORAGE_DIR, MAX_UPLOAD_MB, MAX_EXEC_TIMEOUT_MS, QUEUE_TIMEOUT_MS, WWW_DIR, NGINX_USER,
# NGINX_SPOOL_DIR, WEB_GROUP). start reloads an nginx that runs already. port only says whether somebody else holds PORT.
set -eu
. "$(dirname "$0")/common.sh"

# Bodies of requests are kept here until they are whole, and RUN_DIR's file system is memory on most machines. nginx unlinks
# them when it opens them: none is left behind.
NGINX_SPOOL_DIR=${NGINX_SPOOL_DIR:-${NGINX_DIR:+$NGINX_DIR/tmp}}
NGINX_SPOOL_DIR=${NGINX_SPOOL_DIR:-/var/spool/belljar/$INSTANCE}
NGINX_DIR=${NGINX_DIR:-$RUN_DIR/nginx}
NGINX_SOURCE=${NGINX_SOURCE:-$ROOT_DIR/nginx}
WWW_DIR=${WWW_DIR:-$ROOT_DIR/www}
# Not the service's user: who breaks a worker must not own nginx too.
NGINX_USER=${NGINX_USER:-www-data}
WEB_GROUP=${WEB_GROUP:-www-data}
FILE_STORAGE_DIR=${FILE_STORAGE_DIR:-/var/lib/belljar/files}
MAX_UPLOAD_MB=${MAX_UPLOAD_MB:-256}
MAX_EXEC_TIMEOUT_MS=${MAX_EXEC_TIMEOUT_MS:-60000}
QUEUE_TIMEOUT_MS=${QUEUE_TIMEOUT_MS:-10000}
# On top of the wait for a slot and the run: making the container, files in and out, and some patience.
SPARE_SECONDS=60

# plain_path NAME VALUE: VALUE must mean the same to sed, to nginx and to the service.
plain_path() {
	case $2 in
	/*) ;;
	*) fail "$1 is no absolute path: $2" ;;
	esac
	case $2 in
	*[!A-Za-z0-9/._@%+=:,~-]*) fail "$1 has characters that nginx's configuration cannot hold: $2" ;;
	esac
}

# server_names: the value of server_name. SERVER_NAMES is a list of names, or _ for any; without it a service that only this
# machine reaches has this machine's names. HOST always is one: an address is no name that somebody else could point here.
server_names() {
	# [::1] and *.example.org are no patterns for files.
	set -f
	case $HOST in
	localhost | 127.* | '[::1]') names=${SERVER_NAMES:-localhost 127.0.0.1 [::1]} ;;
	*) names=${SERVER_NAMES:-_} ;;
	esac
	case $names in
	*[!][A-Za-z0-9._*:\ -]*) fail "SERVER_NAMES has characters that no host name has: $names" ;;
	esac
	case " $names " in
	# The first is no Host at all, the second one of any letters.
	*' _ '*) names='"" ~.' ;;
	*" $HOST "*) ;;
	*) [ "$HOST" = '*' ] || names="$names $HOST" ;;
	esac
	say "$names"
}

# set_value FILE NAME VALUE: replaces the value of the directive NAME, which must stand there once.
set_value() {
	conf_file=$NGINX_DIR/conf/$1
	[ "$(grep -c "^[[:space:]]*$2 " "$conf_file")" = 1 ] || fail "$1 has no single line '$2 ...'"
	sed -i "s#^\([[:space:]]*\)$2 .*#\1$2 $3;#" "$conf_file"
}

# set_site NAMES: address and names. Two servers listen, one of them for other names, so there are two such lines.
set_site() {
	conf_file=$NGINX_DIR/conf/nginx.conf
	[ "$(grep -cE '^\s*(listen 127.0.0.1:8000[ ;]|server_name localhost )' "$conf_file")" = 3 ] ||
		fail "nginx.conf has not two lines 'listen ...' and one 'server_name ...'"
	sed -i "s#^\([[:space:]]*listen \)127.0.0.1:8000#\1$HOST:$PORT#; s#^\([[:space:]]*server_name \)localhost .*#\1$1;#" "$conf_file"
}

render() {
	case $HOST in
	*[!][A-Za-z0-9._:*-]*) fail "HOST is no host name or address: $HOST" ;;
	*:*:*) HOST="[$(say "$HOST" | tr -d '[]')]" ;;
	esac
	names=$(server_names)
	plain_path RUN_DIR "$RUN_DIR"
	plain_path FILE_STORAGE_DIR "$FILE_STORAGE_DIR"
	plain_path NGINX_SPOOL_DIR "$NGINX_SPOOL_DIR"
	# The worker reads static files below here and writes temporary ones; nothing else is in it.
	mkdir -p "$NGINX_DIR/conf" "$NGINX_DIR/logs" "$NGINX_DIR/tmp" "$NGINX_SPOOL_DIR"
	chmod 755 "$NGINX_DIR" "$NGINX_DIR/conf" "$NGINX_DIR/tmp"
	# A copy, because a checkout below /root can't be read by the worker.
	rm -rf "$NGINX_DIR/www"
	cp -R "$WWW_DIR" "$NGINX_DIR/www"
	chmod -R a+rX "$NGINX_DIR/www"
	cp "$NGINX_SOURCE"/*.conf "$NGINX_DIR/conf/"
	[ -e "$NGINX_DIR/conf/mime.types" ] || cp /etc/nginx/mime.types "$NGINX_DIR/conf/"
	set_value nginx.conf user "$NGINX_USER $WEB_GROUP"
	set_site "$names"
	set_value nginx.conf client_body_temp_path "$NGINX_SPOOL_DIR/body"
	set_value nginx.conf fastcgi_temp_path "$NGINX_SPOOL_DIR/fastcgi"
	set_value belljar_http.conf server "unix:$RUN_DIR/fcgi.sock max_fails=0"
	set_value belljar_files.conf "set \$belljar_files" "$FILE_STORAGE_DIR"
	set_value belljar_limits.conf client_max_body_size "${MAX_UPLOAD_MB}m"
	sed -i "s/allows 256 MiB/allows $MAX_UPLOAD_MB MiB/g" "$NGINX_DIR/conf/belljar_errors.conf"
	set_value belljar_fastcgi.conf fastcgi_read_timeout \
		"$(((MAX_EXEC_TIMEOUT_MS + QUEUE_TIMEOUT_MS) / 1000 + SPARE_SECONDS))s"
}

run_nginx() {
	nginx -p "$NGINX_DIR/" -c "$NGINX_DIR/conf/nginx.conf" -e "$NGINX_DIR/logs/error.log" "$@" </dev/null
}

running() {
	process_is "$(cat "$NGINX_DIR/nginx.pid" 2>/dev/null)" nginx
}

# Names what is wrong before nginx tries: it would retry five times and say less.
check_port() {
	running && return 0
	hex=$(printf '%04X' "$PORT")
	awk -v port="$hex" '$4 == "0A" && substr($2, length($2) - 3) == port { found = 1 } END { exit !found }' \
		/proc/net/tcp /proc/net/tcp6 2>/dev/null || return 0
	fail "port $PORT is taken by another program: end that, or run with PORT=<another>"
}

start() {
	check_port
	render
	run_nginx -q -t || fail "nginx refuses the configuration in $NGINX_DIR/conf"
	if running; then
		run_nginx -s reload
		return 0
	fi
	rm -f "$NGINX_DIR/nginx.pid"
	(detach nginx -p "$NGINX_DIR/" -c "$NGINX_DIR/conf/nginx.conf" -e "$NGINX_DIR/logs/error.log") \
		</dev/null >>"$NGINX_DIR/logs/start.log" 2>&1 || fail "nginx didn't start: $(tail -n 1 "$NGINX_DIR/logs/start.log")"
}

stop() {
	running || return 0
	stop_process "$(cat "$NGINX_DIR/nginx.pid")" 50
	rm -f "$NGINX_DIR/nginx.pid"
}

case ${1:-} in
port) check_port ;;
render) render ;;
start) start ;;
stop) stop ;;
foreground)
	render
	# In a container that is where logs belong, and its folders are memory.
	set_value nginx.conf error_log "stderr error"
	set_value nginx.conf access_log "/dev/stdout belljar"
	exec nginx -p "$NGINX_DIR/" -c "$NGINX_DIR/conf/nginx.conf" -e stderr -g 'daemon off;'
	;;
*) fail "usage: nginx.sh port|render|start|stop|foreground" ;;
esac
