/* SPDX-License-Identifier: ISC */
/*
 * The control socket: root and the administrators' group ask a running nfsd. A
 * client sends one line, "word" or "word operand". It gets one line, "ok LENGTH"
 * or "error LENGTH", and that many bytes of text. Then the connection ends.
 * Runs in: nfsd parent (parent/control.c), nfsd -S and its like (command/ask.c).
 */
#ifndef CONTROL_H
#define CONTROL_H

#define CONTROL_REQUEST_MAX 512 /* bytes of the line */
#define CONTROL_ANSWER_MAX  (8 * 1024 * 1024)
#define CONTROL_SECONDS	    10 /* from the connection to the last byte */

#endif
