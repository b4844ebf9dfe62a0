/* SPDX-License-Identifier: ISC */
/*
 * A question to the running nfsd, by its control socket (nfsd/control.h).
 * Runs in: nfsd -S and its like.
 */
#ifndef COMMAND_ASK_H
#define COMMAND_ASK_H

/*
 * Sends the request and returns the text of the answer, which the caller frees.
 * NULL: there is none, or it is an error, and one line was logged that says why.
 */
char *ask(const char *path, const char *request);
/* The same; the next bytes of the answer may take so many seconds. */
char *ask_for(const char *path, const char *request, unsigned int seconds);

#endif
