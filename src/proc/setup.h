#pragma once

#include "base/base.h"

#include <sys/types.h>

struct err;

/* What the master makes once and every role inherits. Owned by main; ends with setup_close. */
struct setup {
	const char *config_path; /* --config, NULL: none; borrowed */
	char *fcgi_path, *keeper_path, *pid_path;
	int fcgi_fd;   /* FastCGI listener: nginx connects, workers accept; non-blocking */
	int keeper_fd; /* SEQPACKET listener: workers connect, the keeper accepts; non-blocking */
	int pid_fd;    /* holds the lock of RUN_DIR; the master's alone */
	uid_t uid;     /* SERVICE_USER */
	gid_t gid;
	pid_t master;
};
#define SETUP_INIT                                                                                 \
	{                                                                                          \
		.fcgi_fd = -1, .keeper_fd = -1, .pid_fd = -1                                       \
	}

/* SERVICE_USER's ids; an unknown user, or root, is ERR_INVALID that names the key. */
int setup_user(struct setup *s, struct err *err);
/*
 * RUN_DIR (0711, root's), the pid file with its lock, both sockets, and FILE_STORAGE_DIR.
 * ERR_INVALID when another live master holds RUN_DIR, or a path belongs to somebody else.
 */
int setup_open(struct setup *s, struct err *err);
/* Removes sockets and pid file (the master's own end) and closes everything. */
void setup_close(struct setup *s);
/*
 * Reads the configuration again and makes it `conf`, freeing the old one. On failure the old one
 * stays. RUN_DIR and SERVICE_USER belong to sockets that are open already: a change of these is
 * refused.
 */
int setup_reload(const struct setup *s, struct err *err);
/* Applies LOG_LEVEL and LOG_FORMAT. */
void setup_log(void);
