/* SPDX-License-Identifier: ISC */
/*
 * The counters of mountd in a file: see tally.h.
 * Runs in: mountd parent, mountd worker, nfsd parent.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/shm.h"
#include "tally/tally.h"

#define TALLY_MAGIC UINT64_C(0x7465726e6d6e7401) /* "ternmnt", layout 1 */

/* Is it a file of this user alone? No other user could have made it. */
static bool
is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

/* Opens, locks and clears the file. Returns -1 and errno, or why. */
static int
make(const char *path, const char **why)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const struct tally first = { .magic = TALLY_MAGIC };
	int fd = open(path,
	    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	*why = NULL;
	if (fd == -1)
		return -1;
	if (!is_ours(fd))
		*why = "it is not a file of this user: remove it";
	else if (fcntl(fd, F_OFD_SETLK, &lock) == -1)
		*why = "another mountd counts there: use another -s for it";
	else if (ftruncate(fd, 0) == 0 &&
	    ftruncate(fd, (off_t)sizeof(first)) == 0 &&
	    pwrite(fd, &first, sizeof(first), 0) == (ssize_t)sizeof(first))
		return fd;
	close_keep_errno(fd);
	return -1;
}

int
tally_make(const char *path)
{
	const char *why;
	int fd = make(path, &why);

	if (fd != -1)
		return fd;
	log_info("%s: %s: nfsd -o metrics cannot show what mountd does", path,
	    why != NULL ? why : strerror(errno));
	fd = shm_new(sizeof(struct tally));
	if (fd == -1)
		fatal("counters");
	return fd;
}

struct tally *
tally_map(int fd)
{
	struct tally *t = shm_map(fd, sizeof(*t), true);

	if (t == NULL)
		fatal("counters");
	close(fd);
	return t;
}

void
tally_count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter,
	    atomic_load_explicit(counter, memory_order_relaxed) + 1,
	    memory_order_relaxed);
}

bool
tally_read(const char *path, struct tally *out)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool good;

	if (fd == -1)
		return false;
	good = is_ours(fd) && fcntl(fd, F_OFD_GETLK, &lock) == 0 &&
	    lock.l_type != F_UNLCK &&
	    pread(fd, out, sizeof(*out), 0) == (ssize_t)sizeof(*out) &&
	    out->magic == TALLY_MAGIC;
	close(fd);
	return good;
}
