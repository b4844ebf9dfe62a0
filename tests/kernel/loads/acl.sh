# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2154
# ACLs through the client's own getfacl and setfacl (version 3), seen by a second
# client, obeyed for users, inherited, and refused where they must be.
shown() { getfacl -cpE "$1" | tr '\n' ' '; }
echo secret >f
chmod 600 f
refused 'Permission denied' as bob cat f
[ "$(shown f)" = 'user::rw- group::--- other::---  ' ]

setfacl -m u:bob:r f
[ "$(shown f)" = 'user::rw- user:bob:r-- group::--- mask::r-- other::---  ' ]
[ "$(shown "$D2/f")" = "$(shown f)" ]
[ "$(stat -c %a f)" = 640 ]
[ "$(as bob cat f)" = secret ]
refused 'Permission denied' as alice cat f
refused 'Operation not permitted' as bob setfacl -m u:alice:r f
setfacl -b f
refused 'Permission denied' as bob cat "$D2/f"

mkdir -m 750 d
setfacl -d -m u:alice:rwx d
setfacl -m u:alice:rwx d
as alice touch d/made
as alice mkdir d/dir
[ "$(getfacl -cpE "$D2/d/dir" | grep -c '^default:user:alice:rwx$')" = 1 ]
getfacl -cpE d/made | grep -q '^user:alice:rwx$'
setfacl -k d
[ "$(getfacl -cpE d | grep -c '^default:')" = 0 ]

# A copy keeps them, and many entries go through.
i=2000
while [ $i -lt 2200 ]; do echo "u:$i:r"; i=$((i + 1)); done >entries
setfacl -M entries f
cp -p f g
[ "$(getfacl -cpnE g | grep -c '^user:2')" = 200 ]
[ "$(getfacl -cpnE f)" = "$(getfacl -cpnE "$D2/g")" ]
