/* SPDX-License-Identifier: ISC */
/*
 * Tells a parent when something was mounted or unmounted, and when an export
 * that did not answer does. The kernel tells of every change of the mounts that
 * the parent sees (/proc/self/mountinfo). Changes that come together are told
 * once.
 * Runs in: mountd parent, nfsd parent.
 */
#ifndef MOUNTS_H
#define MOUNTS_H

#define MOUNTS_DELAY_MS 10 /* for further changes to come in */
#define MOUNTS_SICK_S	5 /* a sick filesystem is looked at this often */

struct event;
struct event_base;
struct jail;

struct mounts {
	struct event_base *base;
	struct jail *jail;
	int fd; /* /proc/self/mountinfo */
	struct event *on_change; /* NULL: the kernel does not tell */
	struct event *on_late; /* NULL: every export has answered */
	struct event *timer;
	void (*changed)(void *arg);
	void *arg;
};

/*
 * Calls changed() once soon, and after each change. The jail is borrowed for
 * good.
 */
void mounts_start(struct mounts *, struct event_base *, struct jail *,
    void (*changed)(void *arg), void *arg);
/* To be called after each jail_update(). */
void mounts_wait_late(struct mounts *);
void mounts_free(struct mounts *);

#endif
