# SPDX-License-Identifier: ISC
# shellcheck shell=bash disable=SC2010,SC2012,SC2046,SC2059,SC2103,SC2154,SC2164
# Shared mappings written, synced, extended and removed under the map; the other client reads.
python3 - f "$D2/f" <<'P'
import mmap, os, sys
mine, theirs = sys.argv[1:]
size = 1000123
want = bytearray(os.urandom(size))
with open(mine, "wb") as f:
    f.write(want)
def seen():
    with open(theirs, "rb") as f:
        return f.read()
def put(m, at, data):
    m[at:at + len(data)] = data
    want[at:at + len(data)] = data
fd = os.open(mine, os.O_RDWR)
m = mmap.mmap(fd, size)
assert m[:] == want, "read through the map"
for at in (0, 4095, 65536 - 3, 500000, size - 7):
    put(m, at, os.urandom(7))
m.flush()
assert seen() == want, "what msync wrote"
put(m, 8192, os.urandom(100000))
m.close()
os.close(fd)
assert seen() == want, "what close wrote"
fd = os.open(mine, os.O_RDWR)
os.ftruncate(fd, 2 * size)
want.extend(bytes(size))
m = mmap.mmap(fd, 2 * size)
put(m, size - 5, os.urandom(10))
p = mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE)
p[0:4] = b"mine"
m.flush()
os.fsync(fd)
assert seen() == want, "extended; and a private change stays private"
os.write(fd, b"written")
want[0:7] = b"written"
assert m[0:7] == b"written", "a write shows in the map"
os.unlink(mine)
put(m, 100, b"after unlink")
m.flush()
assert m[:] == want, "the map outlives the name"
P
[ "$(ls)" = '' ]
