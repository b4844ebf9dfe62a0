/* SPDX-License-Identifier: ISC */
/*
 * Numbers on a command line.
 * Runs in: the first process of each daemon.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

/*
 * Reads a decimal number without suffix into *out. Returns NULL, or the error,
 * which is valid until the next call.
 */
const char *number_read(const char *text, long long min, long long max,
    long long *out);

#endif
