#!/bin/bash
# SPDX-License-Identifier: ISC
#
# A RENAME fails although it was made: it was done twice. Does this client find the
# new name, which it knew as missing? One line "@@ found MODE yes|no" for each
# mount, and how much later its directory was changed.
# From the environment: PORTS SERVER EXPORT
# Runs in: the guest.
set -u
for p in $PORTS; do
	mode=${p%:*}
	mkdir "/mnt/$mode"
	mount -i -t nfs -o "vers=3,proto=tcp,mountproto=tcp,nolock,nosharecache,port=${p#*:},addr=$SERVER" \
	    "$SERVER:$EXPORT" "/mnt/$mode" || exit 1
	mkdir "/mnt/$mode/$mode"
	cd "/mnt/$mode/$mode" || exit 1
	python3 - "$mode" <<-'P'
	import os, sys
	os.close(os.open("new", os.O_CREAT))
	os.unlink("new")  # it is missing
	os.close(os.open("old", os.O_CREAT))
	before = os.stat(".").st_ctime_ns
	try:
	    os.rename("old", "new")
	    print("@@ renamed", sys.argv[1], 0)
	except OSError as e:
	    print("@@ renamed", sys.argv[1], e.errno)
	found = os.path.exists("new")
	after = os.stat(".").st_ctime_ns
	print("@@ time", sys.argv[1], after - before)
	print("@@ found", sys.argv[1], "yes" if found else "no", flush=True)
	P
	cd /
done
