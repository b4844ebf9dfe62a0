#!/bin/bash
# SPDX-License-Identifier: ISC
#
# Requirements of POSIX for a filesystem, as a script for syscheck (see there)
# of more than 900 assertions. syscheck runs it as root, alice (1001, group both
# 1100) and bob (1002, both) in an empty directory that root owns.
#
#	posix.sh [2|3] | syscheck DIRECTORY
#
# The argument is the NFS version: version 2 has no large files and no exclusive
# create. Without it: a local filesystem.
# Runs in: the guest of the kernel tests.
set -u
vers=${1:-local}
say() { printf '%s\n' "$@"; }
types='file dir fifo socket symlink'

# make TYPE NAME
make() {
	case $1 in
	file) say "create $2 0644 = 0" ;;
	dir) say "mkdir $2 0755 = 0" ;;
	fifo) say "mkfifo $2 0644 = 0" ;;
	socket) say "mksock $2 0644 = 0" ;;
	symlink) say "symlink nowhere $2 = 0" ;;
	esac
}

# drop TYPE NAME
drop() { case $1 in dir) say "rmdir $2 = 0" ;; *) say "unlink $2 = 0" ;; esac; }

say 'umask 0022' 'as root' 'mkdir t 0755' 'cd t'

say '# making and removing each kind'
for t in $types; do
	make "$t" a
	say "lstat a type = $t" "create a 0644 = EEXIST" \
	    "mkdir a 0755 = EEXIST" "mkfifo a 0644 = EEXIST" \
	    "symlink x a = EEXIST"
	say 'create b 0600 = 0' 'link b a = EEXIST' 'unlink b = 0'
	case $t in
	dir) say 'unlink a = EISDIR' 'rmdir a/. = EINVAL' ;;
	*) say 'rmdir a = ENOTDIR' 'create a/x 0644 = ENOTDIR|ENOENT' ;;
	esac
	drop "$t" a
	say 'lstat a type = ENOENT' 'unlink a = ENOENT' 'rmdir a = ENOENT'
done

say '# modes of new things follow the umask'
for m in 0000 0027 0077 0777; do
	say "umask $m" 'create f 0666 = 0' 'mkdir d 0777 = 0' 'mkfifo p 0666 = 0'
	printf 'stat f mode = 0%o\n' $((0666 & ~m))
	printf 'stat d mode = 0%o\n' $((0777 & ~m))
	printf 'stat p mode = 0%o\n' $((0666 & ~m))
	say 'unlink f = 0' 'rmdir d = 0' 'unlink p = 0'
done
say 'umask 0022'

say '# names'
for n in a .hidden 'a:b' '%255n' '%254n' "$(printf 'caf\303\251')" \
    "$(printf '\343\203\206\343\202\271\343\203\210')" \
    "$(printf '\360\237\216\247')" "$(printf 'x\377\376y')" 'a\b' '..x' '...'; do
	say "create $n 0644 = 0" "stat $n type = file" "count . = 1" \
	    "rename $n other = 0" "rename other $n = 0" "unlink $n = 0"
done
for c in 'create %256n 0644' 'mkdir %256n 0755' 'symlink x %256n' \
    'stat %256n type' 'unlink %256n' 'rmdir %256n' 'chmod %256n 0644'; do
	say "$c = ENAMETOOLONG"
done
say 'create f 0644 = 0' 'rename f %256n = ENAMETOOLONG' \
    'link f %256n = ENAMETOOLONG' 'unlink f = 0'
say 'create - 0644 = ENOENT' 'mkdir - 0755 = ENOENT' 'stat - type = ENOENT'
for c in 'create no/f 0644' 'mkdir no/d 0755' 'symlink x no/s' 'unlink no/f' \
    'rmdir no/d' 'stat no/f type' 'chmod no/f 0644' 'truncate no/f 0' \
    'open no/f O_RDONLY' 'rename no/f g' 'link no/f g' 'mkfifo no/p 0644'; do
	say "$c = ENOENT"
done
say 'create f 0644 = 0'
for c in 'create f/x 0644' 'mkdir f/x 0755' 'symlink x f/x' 'unlink f/x' \
    'rmdir f/x' 'stat f/x type' 'chmod f/x 0644' 'open f/x O_RDONLY' \
    'rename f/x g' 'link f/x g' 'rename f f/g' 'mkfifo f/x 0644'; do
	say "$c = ENOTDIR"
done
say 'unlink f = 0'

say '# rename: every kind onto every kind'
for a in $types; do
	for b in $types; do
		make "$a" a
		make "$b" b
		case $a/$b in
		dir/dir) r=0 ;;
		dir/*) r=ENOTDIR ;;
		*/dir) r=EISDIR ;;
		*) r=0 ;;
		esac
		say "rename a b = $r"
		if [ $r = 0 ]; then
			say "lstat b type = $a" 'lstat a type = ENOENT'
		else
			drop "$a" a
			say "lstat b type = $b"
		fi
		if [ $r = 0 ]; then drop "$a" b; else drop "$b" b; fi
	done
done
say 'mkdir d 0755 = 0' 'mkdir d/e 0755 = 0' 'mkdir f 0755 = 0' \
    'rename f d = ENOTEMPTY|EEXIST' 'rename d d/e/g = EINVAL' \
    'rename d/e f = 0' 'stat d nlink = 2' 'stat f nlink = 2' \
    'rename no f = ENOENT' 'rmdir f = 0' 'rmdir d = 0' \
    'create a 0644 = 0' 'rename a a = 0' 'stat a type = file' \
    'link a b = 0' 'rename a b = 0' 'stat a nlink = 2' 'unlink a = 0' \
    'unlink b = 0'
say 'mkdir d 0755 = 0' 'create d/f 0644 = 0' 'rmdir d = ENOTEMPTY|EEXIST' \
    'unlink d/f = 0' 'rmdir d = 0' 'rmdir . = EINVAL' \
    'mkdir d 0755 = 0' 'mkdir e 0755 = 0' 'create d/f 0644 = 0' \
    'rename d/f e/f = 0' 'count d = 0' 'count e = 1' 'rename e d = 0' \
    'count d = 1' 'unlink d/f = 0' 'rmdir d = 0'

say '# links'
say 'create f 0644 = 0' 'stat f nlink = 1' 'link f g = 0' 'stat f nlink = 2' \
    'same f g = 1' 'chmod g 0600 = 0' 'stat f mode = 0600' 'unlink f = 0' \
    'stat g nlink = 1' 'stat g mode = 0600' 'unlink g = 0' \
    'mkdir d 0755 = 0' 'link d e = EPERM' 'stat d nlink = 2' \
    'mkdir d/e 0755 = 0' 'stat d nlink = 3' 'rmdir d/e = 0' 'stat d nlink = 2' \
    'rmdir d = 0' 'link no g = ENOENT' 'mkfifo p 0644 = 0' 'link p q = 0' \
    'stat p nlink = 2' 'unlink p = 0' 'unlink q = 0'
say 'symlink target s = 0' 'readlink s = target' 'lstat s type = symlink' \
    'lstat s size = 6' 'stat s type = ENOENT' 'open s O_RDONLY = ENOENT' \
    'create target 0644 = 0' 'stat s type = file' \
    'open s O_RDONLY|O_NOFOLLOW = ELOOP' 'link s t = 0' \
    'lstat t type = symlink' 'unlink t = 0' 'unlink s = 0' \
    'stat target type = file' 'readlink target = EINVAL' 'unlink target = 0' \
    'symlink loop loop = 0' 'stat loop type = ELOOP' 'unlink loop = 0' \
    'symlink %1000n long = 0' 'lstat long size = 1000' 'unlink long = 0' \
    'mkdir d 0755 = 0' 'symlink d sd = 0' 'create sd/f 0644 = 0' \
    'stat d/f type = file' 'unlink sd/f = 0' 'rmdir sd = ENOTDIR' \
    'unlink sd = 0' 'rmdir d = 0' 'symlink ../t up = 0' 'stat up type = dir' \
    'unlink up = 0'

say '# contents'
say 'fopen 0 f O_RDWR|O_CREAT|O_EXCL = 0' 'fwrite 0 hello = 5' \
    'fstat 0 size = 5' 'pread 0 0 100 = hello' 'pread 0 1 3 = ell' \
    'pread 0 5 10 = ' 'pread 0 100 10 = ' 'pwrite 0 8 x = 1' \
    'fstat 0 size = 9' 'pread 0 0 20 = hello...x' 'ftruncate 0 3 = 0' \
    'pread 0 0 20 = hel' 'ftruncate 0 6 = 0' 'pread 0 0 20 = hel...' \
    'lseek 0 0 end = 6' 'fsync 0 = 0' 'fclose 0 = 0' 'stat f size = 6' \
    'truncate f 0 = 0' 'stat f size = 0' 'truncate f 100000 = 0' \
    'stat f size = 100000' 'truncate f -1 = EINVAL' \
    'open f O_WRONLY|O_TRUNC = 0' 'stat f size = 0' \
    'open f O_CREAT|O_EXCL|O_RDWR = EEXIST' 'open f O_DIRECTORY = ENOTDIR' \
    'unlink f = 0'
say 'fopen 0 f O_WRONLY|O_CREAT = 0' 'pread 0 0 1 = EBADF' 'fclose 0 = 0' \
    'fopen 0 f O_RDONLY = 0' 'fwrite 0 x = EBADF' 'fclose 0 = 0' \
    'fopen 0 f O_WRONLY|O_APPEND = 0' 'fopen 1 f O_WRONLY|O_APPEND = 0' \
    'fwrite 0 ab = 2' 'fsync 0 = 0' 'fwrite 1 cd = 2' 'fwrite 0 ef = 2' \
    'fclose 0 = 0' 'fclose 1 = 0' 'fopen 0 f O_RDONLY = 0' \
    'pread 0 0 10 = abcdef' 'fclose 0 = 0' 'unlink f = 0' \
    'fopen 0 f O_RDWR|O_CREAT|O_SYNC = 0' 'fwrite 0 sync = 4' \
    'pread 0 0 9 = sync' 'fclose 0 = 0' 'unlink f = 0'
say 'mkdir d 0755 = 0' 'open d O_WRONLY = EISDIR' 'open d O_RDONLY = 0' \
    'open d O_RDWR = EISDIR' 'truncate d 0 = EISDIR' 'rmdir d = 0' \
    'open no O_RDONLY = ENOENT' 'mkfifo p 0644 = 0' \
    'open p O_WRONLY|O_NONBLOCK = ENXIO' 'unlink p = 0' 'mksock s 0755 = 0' \
    'open s O_RDONLY = ENXIO' 'unlink s = 0'

say '# open files outlive their names'
say 'fopen 0 f O_RDWR|O_CREAT = 0' 'fwrite 0 alive = 5' 'unlink f = 0' \
    'stat f type = ENOENT' 'pread 0 0 9 = alive' 'pwrite 0 5 ! = 1' \
    'pread 0 0 9 = alive!' 'fstat 0 size = 6' 'ftruncate 0 2 = 0' \
    'fclose 0 = 0' 'fopen 0 f O_RDWR|O_CREAT = 0' 'fwrite 0 one = 3' \
    'create g 0644 = 0' 'rename g f = 0' 'stat f size = 0' \
    'pread 0 0 9 = one' 'fclose 0 = 0' 'unlink f = 0' \
    'fopen 0 f O_RDWR|O_CREAT = 0' 'rename f g = 0' 'fwrite 0 moved = 5' \
    'fsync 0 = 0' 'stat g size = 5' 'fclose 0 = 0' 'unlink g = 0' 'count . = 0'

say '# modes and owners, as root'
for m in 0000 0111 0222 0400 0644 0755 0777; do
	say 'create f 0600 = 0' "chmod f $m = 0" "stat f mode = ${m/#000/0}" \
	    'unlink f = 0'
done
say 'mkdir d 0755 = 0' 'chmod d 01777 = 0' 'stat d mode = 01777' \
    'chmod d 02755 = 0' 'stat d mode = 02755' 'chown d 0 1100 = 0' \
    'create d/f 0644 = 0' 'stat d/f gid = 1100' 'mkdir d/e 0755 = 0' \
    'stat d/e gid = 1100' 'stat d/e mode = 02755' 'rmdir d/e = 0' \
    'unlink d/f = 0' 'rmdir d = 0'
say 'create f 04755 = 0' 'stat f mode = 04755' 'chown f 1001 1001 = 0' \
    'stat f uid = 1001' 'stat f gid = 1001' 'chown f -1 1002 = 0' \
    'stat f uid = 1001' 'stat f gid = 1002' 'chown f 1002 -1 = 0' \
    'stat f uid = 1002' 'unlink f = 0' 'symlink x s = 0' \
    'lchown s 1001 1002 = 0' 'lstat s uid = 1001' 'lstat s gid = 1002' \
    'unlink s = 0' 'chmod no 0644 = ENOENT' 'chown no 0 0 = ENOENT' \
    'create f 0644 = 0' 'fopen 0 f O_RDWR = 0' 'fchmod 0 0640 = 0' \
    'fchown 0 1001 1100 = 0' 'fstat 0 mode = 0640' 'fstat 0 uid = 1001' \
    'fstat 0 gid = 1100' 'fclose 0 = 0' 'unlink f = 0'

say '# times'
say 'create f 0644 = 0' 'utimens f 1000000000 1100000000 = 0' \
    'stat f atime = 1000000000' 'stat f mtime = 1100000000' \
    'utimens f omit 1200000000 = 0' 'stat f atime = 1000000000' \
    'stat f mtime = 1200000000' 'utimens f 0 0 = 0' 'stat f mtime = 0' \
    'utimens f 2147483647 2147483647 = 0' 'stat f mtime = 2147483647' \
    'utimens f now now = 0' 'create g 0644 = 0' 'newer g f = 1' \
    'chmod f 0600 = 0' 'newer f g = 1' 'utimens no 0 0 = ENOENT' \
    'unlink f = 0' 'unlink g = 0' 'mkdir d 0755 = 0' \
    'utimens d 1000000000 1000000000 = 0' 'create d/f 0644 = 0' \
    'create m 0644 = 0' 'newer m d = 1' 'unlink m = 0' 'unlink d/f = 0' \
    'utimens d 5 6 = 0' 'stat d mtime = 6' 'rmdir d = 0' \
    'symlink x s = 0' 'utimens s 7 8 = 0' 'lstat s mtime = 8' 'unlink s = 0'

say '# permissions: every mode bit for owner, group member and others'
say 'mkdir p 0755 = 0' 'create p/f 0644 = 0' 'mkdir p/d 0755 = 0'
who() { # USER SHIFT OWNER GROUP
	local bits want r
	for bits in 0 1 2 4 5 6 7; do
		say 'as root' "chown p/f $3 $4" "chown p/d $3 $4"
		printf 'chmod p/f 0%o\n' $((bits << $2))
		printf 'chmod p/d 0%o\n' $((bits << $2))
		say "as $1"
		for r in r:4:O_RDONLY w:2:O_WRONLY; do
			IFS=: read -r l b o <<<"$r"
			want=EACCES
			[ $((bits & b)) = 0 ] || want=0
			say "access p/f $l = $want" "open p/f $o = $want"
		done
		want=EACCES
		[ $((bits & 1)) = 0 ] || want=0
		say "access p/f x = $want" "access p/d x = $want" \
		    "stat p/d/. type = $([ $want = 0 ] && echo dir || echo EACCES)"
		[ $((bits & 3)) != 3 ] || say 'create p/d/new 0644 = 0' \
		    'unlink p/d/new = 0'
		[ $((bits & 3)) = 3 ] || say 'create p/d/new 0644 = EACCES'
	done
}
who alice 6 1001 1001
who alice 3 0 1100
who bob 0 1001 1001
say 'as root' 'unlink p/f = 0' 'rmdir p/d = 0' 'chmod p 0777 = 0'

say '# what only the owner may do'
say 'as alice' 'create p/a 0644 = 0' 'stat p/a uid = 1001' \
    'stat p/a gid = 1001' 'chmod p/a 0600 = 0' 'utimens p/a 1 2 = 0' \
    'chown p/a 1002 -1 = EPERM' 'chown p/a -1 1002 = EPERM' \
    'chown p/a -1 1100 = 0' 'stat p/a gid = 1100' 'mkdev p/n 0644 = EPERM' \
    'as bob' 'chmod p/a 0666 = EPERM' 'utimens p/a 3 4 = EPERM' \
    'chown p/a 1002 -1 = EPERM' 'open p/a O_RDONLY = EACCES' \
    'truncate p/a 0 = EACCES' 'utimens p/a now now = EACCES|EPERM' \
    'rename p/a p/b = 0' 'unlink p/b = 0'
say 'as root' 'chmod p 01777 = 0' 'as alice' 'create p/a 0666 = 0' \
    'mkdir p/d 0777 = 0' 'as bob' 'unlink p/a = EPERM|EACCES' \
    'rename p/a p/b = EPERM|EACCES' 'rmdir p/d = EPERM|EACCES' \
    'create p/b 0644 = 0' 'rename p/b p/a = EPERM|EACCES' 'unlink p/b = 0' \
    'as alice' 'rename p/a p/c = 0' 'unlink p/c = 0' 'rmdir p/d = 0'
say 'as root' 'chmod p 0755 = 0' 'as alice' 'create p/a 0644 = EACCES' \
    'mkdir p/d 0755 = EACCES' 'symlink x p/s = EACCES' \
    'mkfifo p/f 0644 = EACCES' 'as root' 'create p/a 0644 = 0' 'as alice' \
    'unlink p/a = EACCES' 'rename p/a p/b = EACCES' 'link p/a p/b = EACCES|EPERM' \
    'open p/a O_RDONLY = 0' 'open p/a O_WRONLY = EACCES' \
    'truncate p/a 0 = EACCES' 'access p/a r = 0' 'access p/a w = EACCES' \
    'as root' 'unlink p/a = 0' 'chmod p 0777 = 0'

say '# an open descriptor keeps its rights; set-id bits go with a write'
# (The export says setid. Without it, no file gets those bits.)
say 'as alice' 'fopen 0 p/a O_RDWR|O_CREAT = 0' 'chmod p/a 0000 = 0' \
    'fwrite 0 mine = 4' 'fsync 0 = 0' 'pread 0 0 9 = mine' 'fclose 0 = 0' \
    'open p/a O_RDONLY = EACCES' 'chmod p/a 0400 = 0' \
    'open p/a O_WRONLY = EACCES' 'open p/a O_RDONLY = 0' \
    'chmod p/a 06777 = 0' 'stat p/a mode = 06777' 'as bob' \
    'fopen 0 p/a O_WRONLY = 0' 'fwrite 0 x = 1' 'fsync 0 = 0' 'fclose 0 = 0' \
    'stat p/a mode = 0777' 'as root' 'unlink p/a = 0' 'mkdev p/n 0644 = 0' \
    'lstat p/n type = char' 'unlink p/n = 0' 'rmdir p = 0'

if [ "$vers" != local ]; then
	say '# neither version has extended attributes' 'create f 0644 = 0' \
	    'setxattr f user.x 1 = EOPNOTSUPP' \
	    'getxattr f user.x = EOPNOTSUPP' 'unlink f = 0'
fi
say '# sizes'
if [ "$vers" != 2 ]; then
	say 'fopen 0 f O_RDWR|O_CREAT = 0' 'pwrite 0 4294967296 end = 3' \
	    'fsync 0 = 0' 'fstat 0 size = 4294967299' \
	    'pread 0 4294967290 20 = ......end' 'ftruncate 0 5368709120 = 0' \
	    'fstat 0 size = 5368709120' 'lseek 0 0 end = 5368709120' \
	    'fclose 0 = 0' 'unlink f = 0'
fi
say 'pathconf . name_max = 255' 'cd ..' 'rmdir t = 0'
