/* SPDX-License-Identifier: ISC */
/*
 * Between the files of the sandbox; no other file includes it.
 * Runs in: every role and portmapd.
 */
#ifndef CONFINE_SANDBOX_PARTS_H
#define CONFINE_SANDBOX_PARTS_H

#include "confine/sandbox.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||     \
    __has_feature(memory_sanitizer)
#define SANDBOX_SANITIZER 1
#endif
#endif
#ifndef SANDBOX_SANITIZER
#define SANDBOX_SANITIZER 0 /* a report needs calls that no role may make */
#endif

/* sandbox_missing.c: records that a layer is not active. */
void sandbox_missing(struct sandbox *, const char *what, const char *why);
/* sandbox_caps.c: makes capabilities survive the change of user; as root. */
void sandbox_caps_begin(struct sandbox *);
/* Reduces bounding set, securebits and capabilities to the policy's. */
void sandbox_caps_enter(struct sandbox *);
/* Formats the kept capabilities: "setuid,setgid", "none". */
const char *sandbox_caps_text(const struct sandbox *, char *out, size_t size);
/* sandbox_landlock.c */
void sandbox_landlock_enter(struct sandbox *);
/* sandbox_seccomp.c: loads both filters for every thread of the process. */
void sandbox_seccomp_seal(struct sandbox *);

#endif
