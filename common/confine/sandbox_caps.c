/* SPDX-License-Identifier: ISC */
/*
 * Capabilities: only the policy's remain, and none can be regained. The
 * securebits are locked, so neither uid 0 nor a set-id program gives any.
 * Runs in: every role and portmapd.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/capability.h>
#include <linux/securebits.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/sandbox_parts.h"

#define BIT(cap) (UINT64_C(1) << (cap))

/* The kernel's CAP_FS_SET: these follow the filesystem user id. */
#define FS_CAPS                                                                \
	(BIT(CAP_CHOWN) | BIT(CAP_MKNOD) | BIT(CAP_DAC_OVERRIDE) |             \
	    BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER) | BIT(CAP_FSETID) |     \
	    BIT(CAP_LINUX_IMMUTABLE) | BIT(CAP_MAC_OVERRIDE))

/* The capabilities that policies name; the log shows others as bits. */
static const struct {
	int cap;
	const char *name;
} names[] = {
	{ CAP_CHOWN, "chown" },
	{ CAP_DAC_OVERRIDE, "dac_override" },
	{ CAP_DAC_READ_SEARCH, "dac_read_search" },
	{ CAP_FOWNER, "fowner" },
	{ CAP_FSETID, "fsetid" },
	{ CAP_SETUID, "setuid" },
	{ CAP_SETGID, "setgid" },
	{ CAP_MKNOD, "mknod" },
};

/* Returns the permitted capabilities of this thread. */
static uint64_t
permitted(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) == -1)
		fatal("capget");
	return (uint64_t)data[1].permitted << 32 | data[0].permitted;
}

static void
set_caps(uint64_t allowed, uint64_t effective)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)effective,
		    .permitted = (uint32_t)allowed },
		{ .effective = (uint32_t)(effective >> 32),
		    .permitted = (uint32_t)(allowed >> 32) },
	};

	if (syscall(SYS_capset, &head, data) == -1)
		fatal("capset");
	if (permitted() != allowed)
		fatalx("capset: the kernel set other capabilities");
}

void
sandbox_caps_begin(struct sandbox *box UNUSED)
{
	if ((permitted() & BIT(CAP_SETPCAP)) != 0 &&
	    prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) == -1)
		fatal("securebits");
	else if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == -1)
		fatal("keepcaps");
}

static void
drop_bounding(uint64_t keep)
{
	int cap;

	for (cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if ((keep & BIT(cap)) == 0 &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == -1)
			fatal("bounding set");
}

/*
 * Locks the securebits. Without NO_SETUID_FIXUP the kernel drops the file
 * capabilities when the filesystem user id leaves 0 and restores them when it
 * returns. Only nfsd's root mode wants that: it changes the id for each call.
 */
static void
lock_securebits(const struct sandbox_policy *policy)
{
	unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
	    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
	    SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	if (!policy->caps_follow_fsuid)
		bits |= SECBIT_NO_SETUID_FIXUP;
	if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) == -1)
		fatal("securebits");
}

void
sandbox_caps_enter(struct sandbox *box)
{
	const struct sandbox_policy *policy = box->policy;
	uint64_t have = permitted(), want = 0, effective;
	char text[160];
	size_t i;

	for (i = 0; i < policy->ncaps; i++)
		want |= BIT(policy->caps[i]);
	box->caps = want & ~have;
	if (box->caps != 0)
		sandbox_missing(box, "capabilities",
		    sandbox_caps_text(box, text, sizeof(text)));
	if ((have & BIT(CAP_SETPCAP)) != 0) {
		set_caps(have, have);
		drop_bounding(want);
		lock_securebits(policy);
	} else if (have != 0)
		sandbox_missing(box, "securebits", "no CAP_SETPCAP");
	box->caps = want & have;
	effective = box->caps;
	if (policy->caps_follow_fsuid)
		effective &= ~FS_CAPS; /* setfsuid(0) restores them */
	set_caps(box->caps, effective);
}

const char *
sandbox_caps_text(const struct sandbox *box, char *out, size_t size)
{
	uint64_t unnamed = box->caps;
	size_t i, len = 0;

	(void)snprintf(out, size, "none");
	for (i = 0; i < nitems(names); i++) {
		if ((box->caps & BIT(names[i].cap)) == 0 || len + 1 >= size)
			continue;
		(void)snprintf(out + len, size - len, "%s%s",
		    len > 0 ? "," : "", names[i].name);
		len = strlen(out);
		unnamed &= ~BIT(names[i].cap);
	}
	if (unnamed != 0)
		(void)snprintf(out + len, size - len, "%s%#jx",
		    len > 0 ? "," : "", (uintmax_t)unnamed);
	return out;
}
