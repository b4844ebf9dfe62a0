/* SPDX-License-Identifier: ISC */
/*
 * Kernel TLS: the keys of a session are installed in its socket. Every process
 * that has the socket then reads and writes plain data, and none sees a key.
 * Runs in: nfsd tls; tls_kernel_works in the parent.
 */
#ifndef TLS_KERNEL_H
#define TLS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsd/tls/keys.h"

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
