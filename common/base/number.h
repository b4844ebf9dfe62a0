/* SPDX-License-Identifier: ISC */
/*
 * A number on a command line.
 * Runs in: the first process of each daemon.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

/*
 * NULL and *out filled, or what is wrong with text, until the next call. A
 * plain decimal number, without suffix.
 */
const char *number_read(const char *text, long long min, long long max,
    long long *out);

#endif
