/* SPDX-License-Identifier: ISC */
/*
 * One line per event: "object: what happened: reason", lower case, no full
 * stop. In the foreground, lines go to standard error, with <N> prefixes if
 * that is the journal; else to syslog. Text from a peer must pass log_text().
 * Runs in: every process. After the sandbox is closed only what is already open
 * is used (log_to_syslog connects at once).
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

/* Starts logging to standard error as "name". Called first in main(). */
void log_init(const char *name);
/* Sets the role shown after the name: "nfsd: worker". */
void log_role(const char *role);
/*
 * Logs to syslog from now on, if there is one. Called when the daemon detaches.
 */
void log_to_syslog(void);
/* Is standard error the journal of systemd, and in use? */
bool log_is_journal(void);
/* 0 normal, 1 debug, 2 every request. */
void log_set_verbose(int level);
int log_verbose(void);

/* Without x, ": strerror(errno)" is appended. */
void fatal(const char *fmt, ...) PRINTF_LIKE(1, 2) NO_RETURN;
void fatalx(const char *fmt, ...) PRINTF_LIKE(1, 2) NO_RETURN;
/* The same for a mistake in the configuration: exit status 78 (EX_CONFIG). */
void fatal_config(const char *fmt, ...) PRINTF_LIKE(1, 2) NO_RETURN;
void log_warn(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_warnx(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_info(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *fmt, ...) PRINTF_LIKE(1, 2);

/*
 * Returns true if a line that a peer can cause may be written now. A line is
 * identified by its name and its object: addr_hash() of the peer, or 0. Each
 * gets one line per LOG_QUIET_SECONDS, all together LOG_BURST lines per second.
 * If lines were suppressed, their number is logged before the next one.
 */
#define LOG_QUIET_SECONDS 60
#define LOG_BURST	  10
bool log_permit(const char *name, uint64_t about);

/*
 * Escapes len bytes from a peer into out, in the style of vis(3), and returns
 * out. If outsize, which must not be 0, is too small, the text ends in "...".
 */
const char *log_text(char *out, size_t outsize, const void *bytes, size_t len);

#endif
