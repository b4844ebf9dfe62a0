/* SPDX-License-Identifier: ISC */
/*
 * The shipped programs without their system call filter, to measure its cost.
 * Linked only into the programs of build/unfiltered: the shipped ones have no
 * switch for it.
 * Runs in: make bench.
 */
#include "base/util.h"
#include "confine/sandbox.h"

void __wrap_sandbox_seccomp_seal(struct sandbox *);

void
__wrap_sandbox_seccomp_seal(struct sandbox *box UNUSED)
{
}
