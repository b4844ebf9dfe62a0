# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# chmod, chown, utimes; errors of other users, and of xattrs, which NFS 2 and 3 do not have.
: >f
for m in 600 640 755 4755 2755 1777 000; do
	chmod $m f
	[ "$(stat -c %a f)" = "$((10#$m))" ]
done
chmod 644 f
chown 1001:1100 f
[ "$(stat -c %u:%g f)" = 1001:1100 ]
chown 0:0 f
touch -d '2001-09-09 01:46:40 UTC' f
[ "$(stat -c %Y f)" = 1000000000 ]
touch -a -d '1999-01-01 UTC' f
[ "$(stat -c %X f)" = 915148800 ]
touch f
age=$(($(date +%s) - $(stat -c %Y f)))
[ "${age#-}" -lt 10 ]
if [ "$VERS" = 3 ]; then
	touch -d '2020-02-02 02:02:02.123456789 UTC' f
	[ "$(stat -c %y f)" = '2020-02-02 02:02:02.123456789 +0000' ]
fi
refused 'Permission denied' as alice touch f
refused 'not permitted' as alice chmod 777 f
refused 'not permitted' as alice chown alice f
refused 'Permission denied' as alice touch -d 2001-01-01 f
chmod 777 .
as alice touch hers
[ "$(stat -c %u:%g hers)" = 1001:1001 ]
refused 'not permitted' as bob chmod 777 hers
refused 'not permitted' as alice chown bob hers
as alice chgrp both hers
[ "$(stat -c %g hers)" = 1100 ]
refused 'not permitted' as alice chgrp bob hers
setpriv --reuid bob --regid both --clear-groups touch his
[ "$(stat -c %u:%g his)" = 1002:1100 ]
refused 'not supported' setfattr -n user.x -v 1 f
refused 'not supported' getfattr -n user.x f
[ -z "$(getfattr -d f)" ]
df . | tail -n 1 | awk '{ exit !($2 > 0) }'
