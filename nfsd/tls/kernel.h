/* SPDX-License-Identifier: ISC */
/*
 * Kernel TLS: the keys of a session are installed in its socket. Every process
 * that has the socket then reads and writes plain data, and none sees a key.
 * Runs in: nfsd tls; tls_kernel_works in the parent.
 */
#ifndef TLS_KERNEL_H
#define TLS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_SECRET_MAX 48 /* SHA-384 */

/* The traffic secrets of a session (RFC 8446, 7.1). */
struct tls_secrets {
	uint8_t client[TLS_SECRET_MAX], server[TLS_SECRET_MAX];
	size_t len; /* of each */
	bool has_client, has_server;
};

/* Takes a line of OpenSSL's key log. */
void tls_secrets_note(struct tls_secrets *, const char *line);
/*
 * Installs the keys. suite is the TLS number of the cipher suite. Nothing may
 * have been sent or read since the handshake. Returns NULL, or what failed.
 */
const char *tls_kernel_install(int fd, uint16_t suite,
    const struct tls_secrets *);
/*
 * Does the kernel have TLS? Tries it on a connection of this machine with
 * itself.
 */
bool tls_kernel_works(void);

#endif
