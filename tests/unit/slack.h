/* SPDX-License-Identifier: ISC */
/*
 * Sanitizers take time and memory, and so does an emulated machine, whose build
 * sets this: the limits of both in tests are multiplied by it.
 * Runs in: tests.
 */
#ifndef SLACK_H
#define SLACK_H

#ifdef TEST_SLACK
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SLACK 20
#else
#define TEST_SLACK 1
#endif

#endif
