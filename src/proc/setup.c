/*
 * What exists before the first role: the run directory, its lock, the two listening sockets, the
 * folder for files, and the identity of unprivileged roles. Called by main and the master;
 * setup_reload by the master and the keeper. Never parses a request and never speaks to Docker.
 */
#include "proc/setup.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "conf.h"
#include "limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORAGE_MODE 0710

int setup_user(struct setup *s, struct err *err)
{
	errno = 0;
	const struct passwd *pw = getpwnam(conf->service_user);
	if (!pw)
		return err_set(
			err, ERR_INVALID,
			"SERVICE_USER: there is no user \"%s\"; make one (adduser --system --group "
			"--no-create-home %s) or name another, \"nobody\" for instance",
			conf->service_user, conf->service_user);
	if (pw->pw_uid == 0 || pw->pw_gid == 0)
		return err_set(err, ERR_INVALID,
			       "SERVICE_USER: \"%s\" is root or in root's group; workers read "
			       "hostile bytes and must be neither",
			       conf->service_user);
	s->uid = pw->pw_uid;
	s->gid = pw->pw_gid;
	return 0;
}

static int entries(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir)
		return INT_MAX;
	int n = -2; /* . and .. */
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/*
 * A folder that exists must be root's and writable for nobody else, or others could replace the
 * sockets. Its mode is changed only where it is empty or an earlier master's: a typing error must
 * not close /tmp to everybody.
 */
static int run_dir_take(int fd, const char *path, struct err *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return err_set(err, ERR_INVALID, "RUN_DIR: %s belongs to another user (uid %ld)",
			       path, (long)st.st_uid);
	if (st.st_mode & 0022)
		return err_set(
			err, ERR_INVALID,
			"RUN_DIR: others than root may write to %s; name a folder of its own",
			path);
	if (st.st_mode & 0001)
		return 0;
	if (entries(fd) > 0 && faccessat(fd, "master.pid", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(err, ERR_INVALID,
			       "RUN_DIR: %s is closed to others and holds other things; name a "
			       "folder of its own",
			       path);
	if (fchmod(fd, 0711) < 0)
		return err_sys(err, ERR_INVALID, errno, "RUN_DIR: cannot set the mode of %s", path);
	return 0;
}

/* 0711: nginx's user and the workers may reach the sockets by name, nobody may list or replace
 * them. */
static int run_dir_make(const char *path, struct err *err)
{
	if (mkdir(path, 0711) < 0 && errno != EEXIST)
		return err_sys(err, ERR_INVALID, errno, "RUN_DIR: cannot make the directory %s",
			       path);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, ERR_INVALID, errno, "RUN_DIR: cannot open the directory %s",
			       path);
	return run_dir_take(fd, path, err);
}

static int pid_refuse(const struct setup *s, int fd, struct err *err)
{
	char text[16] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? strcspn(text, "\n") : 0] = '\0';
	return err_set(err, ERR_INVALID, "RUN_DIR: another belljar (pid %s) is running with %s",
		       text, s->pid_path);
}

/*
 * The lock, not the number in the file, says whether a master lives. A master that ends unlinks the
 * file, so after the lock is ours the path must still lead to the inode that we locked.
 */
static int pid_lock(struct setup *s, struct err *err)
{
	for (;;) {
		AUTO_CLOSE int fd =
			open(s->pid_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (fd < 0)
			return err_sys(err, ERR_INVALID, errno, "RUN_DIR: cannot open %s",
				       s->pid_path);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return pid_refuse(s, fd, err);
		struct stat mine, named;
		if (fstat(fd, &mine) < 0 || stat(s->pid_path, &named) < 0 ||
		    mine.st_ino != named.st_ino)
			continue;
		if (!S_ISREG(mine.st_mode) || mine.st_nlink != 1 || mine.st_uid != geteuid())
			return err_set(err, ERR_INVALID, "RUN_DIR: %s is not a file of ours",
				       s->pid_path);
		char text[16];
		int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
		if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)len, 0) != len)
			return err_sys(err, ERR_INVALID, errno, "RUN_DIR: cannot write %s",
				       s->pid_path);
		s->pid_fd = steal_fd(&fd);
		return 0;
	}
}

static int parents_make(const char *path, struct err *err)
{
	AUTO_FREE char *copy = xstrdup(path);
	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return err_sys(err, ERR_INVALID, errno, "FILE_STORAGE_DIR: cannot make %s",
				       copy);
		*slash = '/';
	}
	return 0;
}

/* WEB_GROUP may pass through, so that the web server can open a file whose path it was told; it
 * can't list, and nobody else gets in. */
static int storage_open_to_web(int fd, const struct stat *st, const char *path, struct err *err)
{
	const struct group *group = getgrnam(conf->web_group);
	if (!group)
		return err_set(err, ERR_INVALID,
			       "WEB_GROUP: there is no group \"%s\"; name that of the web server",
			       conf->web_group);
	if (st->st_gid == group->gr_gid && (st->st_mode & 07777) == STORAGE_MODE)
		return 0;
	if (fchown(fd, (uid_t)-1, group->gr_gid) < 0 || fchmod(fd, STORAGE_MODE) < 0)
		return err_sys(err, ERR_INVALID, errno, "WEB_GROUP: cannot open %s to %s", path,
			       conf->web_group);
	return 0;
}

/*
 * The folder of stored files is SERVICE_USER's. One that exists is only taken over when it is
 * root's and empty (a fresh volume): a typing error must not give /srv away.
 */
static int storage_make(const struct setup *s, const char *path, struct err *err)
{
	if (parents_make(path, err) < 0)
		return -1;
	bool fresh = mkdir(path, STORAGE_MODE) == 0;
	if (!fresh && errno != EEXIST)
		return err_sys(err, ERR_INVALID, errno, "FILE_STORAGE_DIR: cannot make %s", path);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, ERR_INVALID, errno, "FILE_STORAGE_DIR: cannot open %s", path);
	if (st.st_uid == s->uid)
		return storage_open_to_web(fd, &st, path, err);
	if (!fresh && !(st.st_uid == 0 && entries(fd) == 0))
		return err_set(err, ERR_INVALID,
			       "FILE_STORAGE_DIR: %s belongs to uid %ld, not to %s", path,
			       (long)st.st_uid, conf->service_user);
	if (fchown(fd, s->uid, (gid_t)-1) < 0)
		return err_sys(err, ERR_INVALID, errno, "FILE_STORAGE_DIR: cannot hand %s to %s",
			       path, conf->service_user);
	return storage_open_to_web(fd, &st, path, err);
}

/*
 * fcgi.sock is open to every local user, as nginx's port is: which user nginx runs as differs by
 * distribution and container. keeper.sock is SERVICE_USER's alone, and the keeper checks the peer's
 * uid again.
 */
static int sockets_open(struct setup *s, struct err *err)
{
	s->fcgi_fd = io_unix_listen(s->fcgi_path, SOCK_STREAM, LIMIT_FCGI_BACKLOG, 0666, err);
	if (s->fcgi_fd < 0)
		return -1;
	s->keeper_fd =
		io_unix_listen(s->keeper_path, SOCK_SEQPACKET, LIMIT_KEEPER_BACKLOG, 0600, err);
	if (s->keeper_fd < 0)
		return -1;
	if (lchown(s->keeper_path, s->uid, s->gid) < 0)
		return err_sys(err, ERR_INVALID, errno, "RUN_DIR: cannot hand %s to %s",
			       s->keeper_path, conf->service_user);
	return 0;
}

int setup_open(struct setup *s, struct err *err)
{
	s->master = getpid();
	s->fcgi_path = xasprintf("%s/fcgi.sock", conf->run_dir);
	s->keeper_path = xasprintf("%s/keeper.sock", conf->run_dir);
	s->pid_path = xasprintf("%s/master.pid", conf->run_dir);
	if (geteuid() != 0)
		return err_set(err, ERR_INVALID,
			       "belljar must be started by root: it makes its sockets and then "
			       "runs the workers as SERVICE_USER");
	if (setup_user(s, err) < 0 || run_dir_make(conf->run_dir, err) < 0 || pid_lock(s, err) < 0)
		return -1;
	if (storage_make(s, conf->storage_dir, err) < 0)
		return -1;
	return sockets_open(s, err);
}

static void listener_close(int *fd, const char *path)
{
	if (*fd < 0)
		return;
	unlink(path);
	close(steal_fd(fd));
}

void setup_close(struct setup *s)
{
	listener_close(&s->fcgi_fd, s->fcgi_path);
	listener_close(&s->keeper_fd, s->keeper_path);
	listener_close(&s->pid_fd, s->pid_path);
	free(steal(&s->fcgi_path));
	free(steal(&s->keeper_path));
	free(steal(&s->pid_path));
}

void setup_log(void)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };
	enum log_level level = LOG_LEVEL_INFO;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(conf->log_level, names[i]) == 0)
			level = (enum log_level)i;
	log_setup(level, strcmp(conf->log_format, "json") == 0);
}

/* What sockets, folders and containers of the running service were made with. */
static int same_ground(const struct conf *fresh, struct err *err)
{
	const struct {
		const char *key, *now, *then;
	} fixed[] = {
		{ "RUN_DIR", conf->run_dir, fresh->run_dir },
		{ "SERVICE_USER", conf->service_user, fresh->service_user },
		{ "FILE_STORAGE_DIR", conf->storage_dir, fresh->storage_dir },
		{ "WEB_GROUP", conf->web_group, fresh->web_group },
		{ "DOCKER_HOST", conf->docker_host, fresh->docker_host },
		{ "INSTANCE", conf->label, fresh->label },
	};
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (strcmp(fixed[i].now, fixed[i].then) != 0)
			return err_set(err, ERR_INVALID,
				       "%s cannot change while the service runs; restart it",
				       fixed[i].key);
	return 0;
}

int setup_reload(const struct setup *s, struct err *err)
{
	struct conf *fresh = xcalloc(1, sizeof(*fresh));
	int r = conf_load(fresh, s->config_path, err);
	if (r == 0)
		r = same_ground(fresh, err);
	/* The pointer is const for everybody else; here is where it is owned. */
	struct conf *old = r < 0 ? fresh : (struct conf *)(uintptr_t)conf;
	if (r == 0) {
		conf_use(fresh);
		setup_log();
	}
	conf_clear(old);
	free(old);
	return r;
}
