/* SPDX-License-Identifier: ISC */
/*
 * May a test have its own malloc (alloc_hooks.h)? Not beside a sanitizer's.
 * Runs in: tests.
 */
#ifndef OWN_MALLOC_H
#define OWN_MALLOC_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_MALLOC 0
#endif
#endif
#ifndef OWN_MALLOC
#define OWN_MALLOC 1
#endif

#endif
