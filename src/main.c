/*
 * The program: options, configuration, and then either the master with its roles or, started by a
 * CGI server, one request against a running keeper. Every failure before the roles run ends here
 * with one line for the operator.
 */
#include "api/api.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/log.h"
#include "conf.h"
#include "proc/guard.h"
#include "proc/master.h"
#include "proc/setup.h"
#include "proc/worker.h"
#include "store/mime.h"
#include "web/channel.h"

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_USAGE 64 /* sysexits.h */
#define EXIT_CONFIG 78

struct options {
	const char *config;
	bool check, table, version, cgi;
};

static const char usage_text[] =
	"usage: belljar [--config FILE] [-t | -T | -V | --cgi]\n"
	"  --config FILE  settings as KEY=value lines; the environment goes before them\n"
	"  -t             check the settings and end\n"
	"  -T             print the table of settings and end\n"
	"  -V             print the version and end\n"
	"  --cgi          serve one CGI request (the default under a CGI server)\n";

/* False: usage was printed. */
static bool options_read(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "cgi", no_argument, NULL, 'g' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;
	while ((c = getopt_long(argc, argv, "tTV", longs, NULL)) != -1) {
		if (c == 'c')
			o->config = optarg;
		o->check |= c == 't';
		o->table |= c == 'T';
		o->version |= c == 'V';
		o->cgi |= c == 'g';
		if (c == '?')
			break;
	}
	if (c == -1 && optind == argc)
		return true;
	fputs(usage_text, stderr);
	return false;
}

/* A CGI server puts both into the environment (RFC 3875); nobody else does. */
static bool started_as_cgi(void)
{
	return getenv("GATEWAY_INTERFACE") && getenv("REQUEST_METHOD");
}

static int print_table(void)
{
	struct conf_row row;
	for (size_t i = 0; conf_row(i, &row); i++)
		printf("| `%s` | `%s` | %s | %s |\n", row.key, row.fallback, row.range, row.help);
	return fflush(stdout) != 0;
}

static int fail(const struct err *err, int status)
{
	log_err("%s%s%s", err->text, err->cause[0] ? ": " : "", err->cause);
	return status;
}

/* Before any fork: the database is read once and its pages are shared. Without it types are less
 * exact, no more. */
static void load_types(void)
{
	struct err err = ERR_INIT;
	if (mime_setup(&err) < 0)
		log_warn("file types will be unknown: %s: %s", err.text, err.cause);
}

static int serve_cgi(void)
{
	struct setup setup = SETUP_INIT;
	struct err err = ERR_INIT;
	log_role("cgi");
	load_types();
	if ((geteuid() == 0 && setup_user(&setup, &err) < 0) || guard_cgi(&setup, &err) < 0)
		return fail(&err, EXIT_CONFIG);
	struct channel *channel = channel_new(-1, true);
	const int stop = 0;
	int r = channel ? channel_accept(channel, &stop, &err) : -1;
	if (r > 0)
		worker_serve(channel);
	channel_free(channel);
	api_close();
	mime_end();
	return r < 0 ? fail(&err, EXIT_CONFIG) : r == 0;
}

static int serve(const struct options *o)
{
	struct setup setup = SETUP_INIT;
	struct err err = ERR_INIT;
	setup.config_path = o->config;
	log_role("master");
	load_types();
	int r = setup_open(&setup, &err) < 0 ? fail(&err, EXIT_CONFIG) : master_run(&setup);
	setup_close(&setup);
	mime_end();
	return r;
}

/*
 * What a starter may have left us. Without 0 to 2 the first socket would be taken for stderr; a
 * descriptor beyond them would be passed to every role; an ignored SIGCHLD hides the death of
 * children; a strict umask would shut SERVICE_USER out of the folder of its files.
 */
static void forget_starter(void)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	int fd;
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	sigaction(SIGCHLD, &usual, NULL);
	umask(022);
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	struct err err = ERR_INIT;
	forget_starter();
	/* A CGI server may pass the query as arguments (RFC 3875, 4.4): they are not ours to read.
	 */
	bool cgi = started_as_cgi();
	if (!cgi && !options_read(&o, argc, argv))
		return EXIT_USAGE;
	if (o.version)
		return printf("belljar %s\n", API_VERSION) < 0;
	if (o.table)
		return print_table();
	log_role("belljar");
	struct conf *c = xcalloc(1, sizeof(*c));
	if (conf_load(c, o.config, &err) < 0)
		return fail(&err, EXIT_CONFIG);
	conf_use(c);
	setup_log();
	if (o.check)
		return printf("configuration ok\n") < 0;
	return cgi || o.cgi ? serve_cgi() : serve(&o);
}
