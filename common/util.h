/* SPDX-License-Identifier: ISC */
/*
 * Small things every file may use: nothing here has state or a home elsewhere.
 * Runs in: every process.
 */
#ifndef UTIL_H
#define UTIL_H

#include <stddef.h>

#define nitems(a) (sizeof(a) / sizeof((a)[0]))

#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define NO_RETURN		__attribute__((noreturn))
#define UNUSED			__attribute__((unused))

#endif
