/* SPDX-License-Identifier: ISC */
/*
 * The command line as rows: letter, name, text for the usage, and the member
 * that gets the value. options.c has the flags that all daemons share. A daemon
 * adds its own tables, for flags and for -o settings.
 * Runs in: the first process of each daemon.
 */
#ifndef PROCESS_OPTIONS_H
#define PROCESS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/daemon.h"

struct rpc_limits;

enum option_kind {
	OPTION_FLAG, /* a bool; takes no value */
	OPTION_COUNT, /* an int: how often it was given; takes no value */
	OPTION_TEXT, /* a const char *, of at least low bytes */
	OPTION_PATH, /* the same, absolute */
	OPTION_PORT, /* a uint16_t */
	OPTION_UINT, /* an unsigned int from low to high */
	OPTION_LIMIT, /* a member of struct rpc_limits, by its name */
	OPTION_CALL /* calls a function */
};

/* letter 0: only the long form. A table of settings ignores it. */
struct daemon_option {
	int letter;
	const char *name; /* "--threads", without the dashes */
	const char *value; /* its name in the usage; NULL: takes none */
	const char *help;
	enum option_kind kind; /* this and the rest: one of the macros below */
	size_t offset; /* of the member in the struct at arg */
	long long low, high;
	/* Returns NULL, or what is wrong with value ("not a number"). */
	const char *(*set)(void *arg, const char *value);
};

/* The end of a row. A member of another type does not compile. */
/* clang-format off */
#define OPTION_AT(s, member, type)                                             \
	(offsetof(s, member) + 0 *                                             \
	    sizeof(char[_Generic(((s *)NULL)->member, type: 1, default: -1)]))
#define OPT_FLAG(s, member)  OPTION_FLAG,  OPTION_AT(s, member, bool), 0, 0, NULL
#define OPT_COUNT(s, member) OPTION_COUNT, OPTION_AT(s, member, int), 0, 0, NULL
#define OPT_TEXT(s, member, low)                                               \
	OPTION_TEXT, OPTION_AT(s, member, const char *), low, 0, NULL
#define OPT_PATH(s, member)  OPTION_PATH,  OPTION_AT(s, member, const char *), 0, 0, NULL
#define OPT_PORT(s, member)  OPTION_PORT,  OPTION_AT(s, member, uint16_t), 0, UINT16_MAX, NULL
#define OPT_UINT(s, member, low, high)                                         \
	OPTION_UINT, OPTION_AT(s, member, unsigned int), low, high, NULL
#define OPT_LIMIT            OPTION_LIMIT, 0, 0, 0, NULL
#define OPT_CALL(set)        OPTION_CALL, 0, 0, 0, set
/* clang-format on */

struct daemon_spec {
	const char *name;
	const char *user; /* default of -u */
	uint16_t port; /* default of -p */
	bool has_exports; /* takes -f, -k and -R */
	int max_operands;
	const char *operands; /* for the usage, "[path]"; or NULL */
	const struct daemon_option *options; /* sorted by letter */
	size_t noptions;
	const struct daemon_option *settings; /* sorted by name */
	size_t nsettings;
	struct rpc_limits *limits; /* of the rows with OPT_LIMIT */
	void *arg; /* the struct of the daemon's own rows */
};

/*
 * Reads "addr" or "addr@port"; "::" and "0.0.0.0" are wildcards. Returns NULL, or
 * what is wrong.
 */
const char *daemon_read_listen(struct daemon_listen *, const char *value);

/* Reads the command line. After a mistake the process exits with status 1. */
void daemon_options(struct daemon *, const struct daemon_spec *, int argc,
    char *argv[]);

#endif
