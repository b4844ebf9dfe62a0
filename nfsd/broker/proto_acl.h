/* SPDX-License-Identifier: ISC */
/*
 * The questions about access control lists; a part of proto.h.
 * Runs in: nfsd worker (asks), nfsd broker (answers).
 */
#ifndef BROKER_PROTO_ACL_H
#define BROKER_PROTO_ACL_H

#define BROKER_ACL_MAX 1024 /* entries */

/* An entry of an ACL, as acl(5) has it. */
struct broker_ace {
	uint16_t tag; /* ACL_* of linux/posix_acl.h */
	uint16_t perm;
	uint32_t id; /* of a named user or group */
};

/*
 * The ACL of a file or directory. Behind a question that sets it: n entries. No
 * entry: there is none, or it is removed. To read it takes no right but the
 * handle, as with the attributes. To set it the user must own the file.
 */
struct broker_acl {
	struct broker_open file; /* want is not looked at */
	uint32_t is_default; /* for what is made in the directory */
	uint32_t n; /* entries to set */
};

/* Answered with n entries behind it. */
struct broker_got_acl {
	int32_t error;
	uint32_t n;
	struct broker_ace list[BROKER_ACL_MAX];
};

struct broker_acl_set {
	int32_t error;
};

#endif
