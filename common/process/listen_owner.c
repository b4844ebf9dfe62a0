/* SPDX-License-Identifier: ISC */
/*
 * Finds the socket of a port in /proc/net, and its process in /proc/PID/fd.
 * Runs in: the first process of each daemon, when it cannot start or register.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "process/listen_owner.h"

#define TCP_LISTENING 0x0a

/* What to do about the usual processes. */
static const struct {
	const char *comm;
	const char *fix;
} fixes[] = {
	{ "portmapd", "it is running already" },
	{ "mountd", "it is running already" },
	{ "nfsd", "it is running already" },
	{ "rpcbind",
	    "stop it (\"systemctl disable --now rpcbind.socket "
	    "rpcbind.service\")" },
	{ "rpc.mountd", "stop it (\"systemctl disable --now nfs-server\")" },
	{ "systemd",
	    "a socket unit holds it (\"systemctl list-sockets\" "
	    "shows which; stop that)" },
};

/* The kernel's tables; a unit with ProcSubset=pid has no /proc/net. */
static const char *const tables[2][2] = {
	{ "/proc/self/net/tcp", "/proc/self/net/tcp6" },
	{ "/proc/self/net/udp", "/proc/self/net/udp6" },
};

/* Returns the inode number of the socket with this local port; 0: none. */
static unsigned long
find_inode(const char *table, bool udp, uint16_t port)
{
	char line[512];
	unsigned int local, state;
	unsigned long inode, found = 0;
	FILE *f = fopen(table, "re");

	while (f != NULL && found == 0 && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line,
			" %*[^:]: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*s %*s "
			"%lu",
			&local, &state, &inode) == 3 &&
		    local == port && (udp || state == TCP_LISTENING))
			found = inode;
	if (f != NULL)
		(void)fclose(f);
	return found;
}

/* Does the process have a descriptor of this socket? */
static bool
holds(const char *pid, const char *wanted)
{
	char path[64], link[64];
	struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	d = opendir(path);
	while (d != NULL && !found && (e = readdir(d)) != NULL) {
		n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		if (n > 0) {
			link[n] = '\0';
			found = strcmp(link, wanted) == 0;
		}
	}
	if (d != NULL)
		(void)closedir(d);
	return found;
}

static void
read_comm(const char *pid, char comm[32])
{
	char path[64];
	ssize_t n = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd != -1) {
		n = read(fd, comm, 31);
		close(fd);
	}
	comm[n > 0 ? n - 1 : 0] = '\0'; /* without the newline */
}

static bool
find_process(unsigned long inode, char pid[24], char comm[32])
{
	char wanted[64];
	struct dirent *e;
	bool found = false;
	DIR *d = opendir("/proc");

	(void)snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
	while (d != NULL && !found && (e = readdir(d)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]) ||
		    !holds(e->d_name, wanted))
			continue;
		found = true;
		(void)snprintf(pid, 24, "%.20s", e->d_name);
		read_comm(pid, comm);
	}
	if (d != NULL)
		(void)closedir(d);
	return found;
}

static const char *
find_fix(const char *comm)
{
	size_t i;

	for (i = 0; i < nitems(fixes); i++)
		if (strcmp(fixes[i].comm, comm) == 0)
			return fixes[i].fix;
	return "stop it";
}

/* Returns the inode number of the socket at the address; 0: none. */
static unsigned long
find_socket(const struct addr *at, bool udp)
{
	unsigned long inode =
	    find_inode(tables[udp][at->family == AF_INET6], udp, at->port);

	/* An IPv6 socket may cover IPv4 too. */
	return inode != 0 ? inode : find_inode(tables[udp][1], udp, at->port);
}

bool
listen_holder(const struct addr *at, bool udp, char *out, size_t size)
{
	unsigned long inode = find_socket(at, udp);
	char pid[24], comm[32];

	if (inode == 0 && access(tables[udp][0], R_OK) == 0)
		return false;
	if (inode != 0 && find_process(inode, pid, comm))
		(void)snprintf(out, size, "%s (pid %s)", comm, pid);
	else
		(void)snprintf(out, size,
		    "the kernel or a process of another user");
	return true;
}

void
listen_owner(const struct addr *at, bool udp, const char *option, char *out,
    size_t size)
{
	unsigned long inode = find_socket(at, udp);
	char pid[24], comm[32];

	if (inode == 0)
		(void)snprintf(out, size,
		    "the port is taken: choose another with %s", option);
	else if (find_process(inode, pid, comm))
		(void)snprintf(out, size,
		    "the port is taken by %s (pid %s): %s, or choose another "
		    "port with %s",
		    comm, pid, find_fix(comm), option);
	else
		(void)snprintf(out, size,
		    "the port is taken by a process of another user or by the "
		    "kernel's NFS server (\"rpc.nfsd 0\" stops it): "
		    "choose another port with %s",
		    option);
}
