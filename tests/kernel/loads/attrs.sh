# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2164
# chmod, chown, times; errors of what version 2 and 3 cannot do.
: >f
for m in 600 640 755 4755 2755 1777 000; do
	chmod $m f
	[ "$(stat -c %a f)" = "$((10#$m))" ]
done
chmod 644 f
chown 1001:1100 f && [ "$(stat -c %u:%g f)" = 1001:1100 ]
chown 0:0 f
touch -d '2001-09-09 01:46:40 UTC' f && [ "$(stat -c %Y f)" = 1000000000 ]
touch -a -d '1999-01-01 UTC' f && [ "$(stat -c %X f)" = 915148800 ]
touch f && [ $(($(date +%s) - $(stat -c %Y f))) -lt 5 ]
if [ "$VERS" = 3 ]; then
	touch -d '2020-02-02 02:02:02.123456789 UTC' f
	[ "$(stat -c %y f)" = '2020-02-02 02:02:02.123456789 +0000' ]
fi
setpriv --reuid 1001 --regid 1001 --init-groups touch f 2>/dev/null && exit 1
chmod 777 .
setpriv --reuid 1001 --regid 1001 --init-groups touch hers
[ "$(stat -c %u:%g hers)" = 1001:1001 ]
setpriv --reuid 1002 --regid 1002 --init-groups chmod 777 hers 2>/dev/null && exit 1
setpriv --reuid 1002 --regid 1100 --clear-groups touch his
[ "$(stat -c %u:%g his)" = 1002:1100 ]
df . | tail -n 1 | awk '{ exit !($2 > 0) }'
