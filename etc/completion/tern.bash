# SPDX-License-Identifier: ISC
# shellcheck shell=bash
# Completion of bash for portmapd, mountd and nfsd. The options are those that
# the program itself prints with --help, so none is missing here.

# _tern_help PROGRAM: its usage. The path may lack /usr/sbin for a plain user.
_tern_help() { PATH=$PATH:/usr/sbin:/usr/local/sbin "$1" --help 2>/dev/null; }

# The letters and long names that --help lists.
_tern_options() {
	sed -n 'h; s/^  \(-[A-Za-z]\), .*/\1/p; g
	    s/^  \(-[A-Za-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p'
}

# The names that -o takes; those with a value end with "=".
_tern_settings() {
	sed -n '/name\[=value\]/,$s/^       *\([a-z][a-z-]*=\{0,1\}\).*/\1/p'
}

_tern() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	case $prev in
	-o | --option)
		compopt -o nospace 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -W \
		    "$(_tern_help "$1" | _tern_settings)" -- "$cur")
		;;
	-[cfkrs] | --compat | --exports | --key | --root | --socket)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		;;
	-u | --user)
		mapfile -t COMPREPLY < <(compgen -u -- "$cur")
		;;
	-x | --explain)
		mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur")
		;;
	*)
		if [[ $cur == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W \
			    "$(_tern_help "$1" | _tern_options)" -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		fi
		;;
	esac
}
complete -F _tern portmapd mountd nfsd
