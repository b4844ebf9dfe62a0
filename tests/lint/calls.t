#!/bin/sh
# SPDX-License-Identifier: ISC
# Calls that no file makes, and calls that have one home (tests/lint/homes).
. "${0%/*}/lib.sh"

before='(^|[^A-Za-z0-9_>.])'

# calls REGEX: file:line:text of calls of such functions, direct or by number.
calls() {
	grep -E "^[^:]*:[0-9]*:.*$before((($1)[[:space:]]*\()|syscall\((SYS|__NR)_($1)\>)"
}

all=$(sources | code)
prod=$(printf '%s\n' "$all" | grep -E '^(common|portmapd|mountd|nfsd)/' || true)

for f in strcpy strcat sprintf vsprintf gets atoi atol atoll strtok alloca \
    system popen signal strncpy strncat rand tmpnam mktemp getwd; do
	printf '%s\n' "$all" | calls $f || true
done | none 'no file calls strcpy, sprintf, atoi, strtok, system and the like'

# Callers cannot act on the results of these calls, so they are not cast.
printf '%s\n' "$all" | grep -E '\(void\) *(close|pthread_[a-z_]+) *\(' |
    none 'close and pthread calls go without (void)'

# Codecs and operations use memory that the caller provides.
printf '%s\n' "$prod" |
    grep -E '^(nfsd/(wire|ops)/|common/rpc/xdr|mountd/worker/mount_(xdr|ops)|portmapd/[a-z]+_(proc|ops))' |
    calls 'malloc|calloc|realloc|reallocarray|strdup|free' |
    none 'codecs and operations do not allocate'
printf '%s\n' "$prod" |
    grep -E '^(nfsd/wire/|common/(handle/|rpc/xdr|base/name|exports/(exports|parse|option|host|finish))|mountd/worker/mount_xdr)' |
    calls 'log_[a-z]+|fatalx?|warnx?|errx?' |
    none 'codecs, exports and handles do not log'

while read -r names homes; do
	case $names in '' | '#'*) continue ;; esac
	printf '%s\n' "$prod" | calls "$names" | grep -Ev "^($homes):" |
	    grep -Ev ':[0-9]+:[a-z].*;$|\*\)\(' |
	    none "only $(echo "$homes" | sed 's/|/, /g; s/\\././g; s/\[a-z_\]\*/*/g'): $(echo "$names" | sed 's/|/ /g')"
done <tests/lint/homes
done_testing
