/* SPDX-License-Identifier: ISC */
/*
 * Allocations of the whole program that may fail. The including file first
 * defines fails(), which decides about each allocation. glibc's functions do
 * the work.
 * Runs in: tests.
 */
#ifndef ALLOC_HOOKS_H
#define ALLOC_HOOKS_H

#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *
malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}

void *
aligned_alloc(size_t align, size_t size)
{
	return fails() ? NULL : __libc_memalign(align, size);
}

#endif
