/* SPDX-License-Identifier: ISC */
/*
 * One line per event: "object: what happened: reason", lower case, no full
 * stop. To standard error in the foreground (with <N> prefixes when that is the
 * journal), else to syslog. Text that came from a peer must pass log_text().
 * Runs in: every process. After the sandbox is closed only what is already
 * open is used (log_to_syslog connects at once).
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

/* Starts logging to standard error as "name"; call first in main(). */
void log_init(const char *name);
/* The role shown after the name: "nfsd: worker". */
void log_role(const char *role);
/* From now on to syslog, if there is one; called when the daemon detaches. */
void log_to_syslog(void);
/* 0 normal, 1 debug, 2 every request. */
void log_set_verbose(int level);
int log_verbose(void);

/* With ": strerror(errno)" appended (no x) or without (x). */
void fatal(const char *fmt, ...) PRINTF_LIKE(1, 2) NO_RETURN;
void fatalx(const char *fmt, ...) PRINTF_LIKE(1, 2) NO_RETURN;
void log_warn(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_warnx(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_info(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *fmt, ...) PRINTF_LIKE(1, 2);

/*
 * Gate for lines a peer can cause: true when one may be written now. A line is
 * known by its name and by what it is about: addr_hash() of the peer, or 0.
 * Each gets one line per LOG_QUIET_SECONDS, all together LOG_BURST lines per
 * second. When lines were suppressed, a count precedes the next one.
 */
#define LOG_QUIET_SECONDS 60
#define LOG_BURST	  10
bool log_permit(const char *name, uint64_t about);

/*
 * Escapes len bytes from a peer into out (vis(3) style, cut with "..." at
 * outsize, which is not 0); returns out.
 */
const char *log_text(char *out, size_t outsize, const void *bytes, size_t len);

#endif
