/* SPDX-License-Identifier: ISC */
/*
 * Machines of 32 bits, such as armhf. The compiler includes this file before
 * every other one there (etc/build.mk), so that no file can forget it.
 *
 * Names of system calls: what Tern's tables and calls mean is the call that
 * libc makes. The call of the old name is another one there. setfsuid(2) of 16
 * bits would take user 65536 for root.
 * Runs in: every process, on 32-bit machines.
 */
#ifndef MACHINE_NARROW_H
#define MACHINE_NARROW_H

#include <sys/syscall.h>

/* Users of 32 bits. */
#undef SYS_geteuid
#define SYS_geteuid SYS_geteuid32
#undef SYS_setfsgid
#define SYS_setfsgid SYS_setfsgid32
#undef SYS_setfsuid
#define SYS_setfsuid SYS_setfsuid32
#undef SYS_setgid
#define SYS_setgid SYS_setgid32
#undef SYS_setgroups
#define SYS_setgroups SYS_setgroups32
#undef SYS_setuid
#define SYS_setuid SYS_setuid32

/* Sizes of 64 bits. statx(2) is how libc asks for attributes. */
#undef SYS_fcntl
#define SYS_fcntl SYS_fcntl64
#undef SYS_fstat
#undef SYS_fstatfs
#define SYS_fstatfs SYS_fstatfs64
#undef SYS_ftruncate
#define SYS_ftruncate SYS_ftruncate64
#undef SYS_lseek
#define SYS_lseek SYS__llseek
#undef SYS_mmap
#define SYS_mmap       SYS_mmap2
#define SYS_newfstatat SYS_statx

/*
 * Times of 64 bits. libc makes the calls named _time32 as long as a time fits in
 * 32 bits, so a filter permits both.
 */
#define SYS_ppoll_time32     __NR_ppoll
#define SYS_utimensat_time32 __NR_utimensat
#undef SYS_clock_gettime
#define SYS_clock_gettime SYS_clock_gettime64
#undef SYS_ppoll
#define SYS_ppoll SYS_ppoll_time64
#undef SYS_recvmmsg
#define SYS_recvmmsg SYS_recvmmsg_time64
#undef SYS_utimensat
#define SYS_utimensat SYS_utimensat_time64

/*
 * Tern's times have 64 bits. Those of libevent have the platform's size, which
 * is 32 bits in Debian 12. narrow.c converts.
 */
#define event_add	    event_add_wide
#define event_base_loopexit event_base_loopexit_wide

#endif
