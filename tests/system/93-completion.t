#!/bin/bash
# SPDX-License-Identifier: ISC
# Completion of bash and zsh offers every option and setting of each daemon.
# Runs in: the tests.
. "${0%/*}/lib.sh"
scratch
need_daemons

export PATH="$O/portmapd:$O/mountd:$O/nfsd:$PATH"

# wanted NAME options|settings: what its usage lists.
wanted() {
	if [ "$2" = options ]; then
		"$1" --help | sed '/name\[=value\]/q' | grep -oE '^  (-[A-Za-z], )?--[a-z-]+|^  -[A-Za-z]' |
		    tr -d ' ' | tr ',' '\n'
	else
		"$1" --help | sed '1,/name\[=value\]/d' | grep -oE '^ +[a-z-]+=?' | tr -d ' '
	fi | sort
}

# by_bash COMMAND WORD...: what bash offers for the last word.
by_bash() {
	bash --norc -c '. "$1"; shift
	    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	    _tern "$1" && printf "%s\n" "${COMPREPLY[@]}"' - "$top/etc/completion/tern.bash" "$@" | sort
}

# by_zsh COMMAND WORD...: the same of zsh, whose editor is not started: compadd
# and the functions of other completions print.
by_zsh() {
	zsh -f -c 'compadd() { print -l -- ${(P)argv[-1]} }
	    _files() { print files }; _directories() { print directories }
	    _users() { print users }; _hosts() { print hosts }
	    setopt extendedglob
	    file=$1; shift
	    words=("$@") CURRENT=$# PREFIX=${@[-1]}
	    . "$file"' - "$top/etc/completion/_tern" "$@" | sort
}

shells=(bash)
if command -v zsh >/dev/null; then shells+=(zsh); else skip 'no zsh (package zsh)' 12; fi
for s in "${shells[@]}"; do
	for p in portmapd mountd nfsd; do
		is "$("by_$s" $p -)" "$(wanted $p options)" "$s: every option of $p"
		is "$("by_$s" $p -o '')" "$(wanted $p settings)" "$s: every setting of $p"
	done
	like "$("by_$s" mountd -u '')" 'root|users' "$s: -u offers users"
done
like "$(by_bash mountd -n --ex)" '^--explain$' 'bash: the beginning of a word counts'
is "$(by_bash nfsd -f "$top/READ")" "$top/README.md" 'bash: -f offers files'
done_testing
