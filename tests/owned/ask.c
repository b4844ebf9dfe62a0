/* SPDX-License-Identifier: ISC */
/*
 * What a compromised worker of nfsd can get from the broker. It names a file of
 * the export, has it sealed as for a client's LOOKUP, and asks for its data as
 * several users.
 * Runs in: children of each role, sealed as the role is.
 */
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/ipc.h"
#include "base/util.h"
#include "nfsd/broker/proto.h"
#include "owned.h"

struct seal_question {
	struct broker_seal head;
	char name[32];
};

/* Sends one question. Returns the length of the answer. */
static ssize_t
ask(const struct owned *o, uint32_t question, const void *data, size_t len,
    const int *fds, size_t nfds, void *answer, size_t size, int *fd)
{
	uint32_t type;
	size_t n = 1;

	if (o->broker == -1) {
		errno = ENOTCONN;
		return -1;
	}
	if (ipc_send(o->broker, question, data, len, fds, nfds) == -1)
		return -1;
	return ipc_receive(o->broker, &type, answer, size, fd, &n);
}

static bool
seal(const struct owned *o, struct seal_question *q, size_t len, const int *fds,
    struct fh *fh)
{
	struct broker_sealed_one answer;
	int none = -1;

	if (ask(o, BROKER_SEAL, q, len, fds, q->head.n, &answer, sizeof(answer),
		&none) != (ssize_t)sizeof(answer))
		return false;
	*fh = answer.fh;
	errno = answer.error;
	return answer.error == 0;
}

/* The handle of a name in the export. */
static bool
name_file(const struct owned *o, const char *name, struct fh *fh)
{
	struct seal_question q = { .head = { .export_id = o->export_id } };
	size_t i, len = strlen(name) + 1;
	int fd = -1;

	if (!seal(o, &q, sizeof(q.head), NULL, &q.head.dir))
		return false;
	for (i = 0; i < o->ndirs && fd == -1; i++)
		fd = (int)syscall(SYS_openat, o->dirs[i], name,
		    O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return false;
	q.head.n = 1;
	q.head.names_len = (uint32_t)len;
	memcpy(q.name, name, len);
	return seal(o, &q, sizeof(q.head) + len, &fd, fh);
}

static bool
opens_as(const struct owned *o, const struct fh *fh, uint32_t uid, uint32_t gid,
    uint32_t ngids)
{
	struct broker_open q = { .fh = *fh,
		.want = BROKER_READ,
		.uid = uid,
		.gid = gid,
		.ngids = ngids }; /* of root's group, if any */
	struct broker_opened answer;
	int fd = -1;

	if (ask(o, BROKER_OPEN, &q, sizeof(q), NULL, 0, &answer, sizeof(answer),
		&fd) != (ssize_t)sizeof(answer))
		return false;
	errno = answer.error;
	return fd != -1;
}

/* Proves that the broker answers at all. */
bool
ask_for_readable(const struct owned *o)
{
	struct fh fh;

	return name_file(o, "owned-readable", &fh) &&
	    opens_as(o, &fh, 1001, 1001, 0);
}

bool
ask_for_closed(const struct owned *o)
{
	static const uint32_t ids[] = { 0, UINT32_MAX, 1002, 65534, 1001 };
	struct fh fh;
	size_t i, j;

	if (!name_file(o, "owned-closed", &fh))
		return false;
	for (i = 0; i < nitems(ids); i++)
		for (j = 0; j < nitems(ids); j++)
			if (opens_as(o, &fh, ids[i], ids[j], 1) ||
			    opens_as(o, &fh, ids[i], ids[j], 0))
				return true;
	return false;
}

/* The set-id bits of a file, which the broker sets only of a directory. */
bool
ask_for_setid(const struct owned *o)
{
	struct broker_chmod q = { .dir = { .uid = 1001, .gid = 1001 },
		.mode = 06755 };
	struct broker_chmoded answer;
	int none = -1;

	if (!name_file(o, "owned-program", &q.dir.fh) ||
	    ask(o, BROKER_CHMOD, &q, sizeof(q), NULL, 0, &answer,
		sizeof(answer), &none) != (ssize_t)sizeof(answer))
		return false;
	errno = answer.error;
	return answer.error == 0;
}
