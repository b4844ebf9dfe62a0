# SPDX-License-Identifier: ISC
"""Handles as a compromised worker can make them: the worker's tag is right,
the broker's is not (common/handle/fhandle.h)."""
import hashlib

MASK = (1 << 64) - 1
AT_BROKER, AT_WORKER = 24, 28


def rotate(x, n):
    return (x << n | x >> (64 - n)) & MASK


def mix(v, rounds):
    a, b, c, d = v
    for _ in range(rounds):
        a = (a + b) & MASK
        b = rotate(b, 13) ^ a
        a = rotate(a, 32)
        c = (c + d) & MASK
        d = rotate(d, 16) ^ c
        a = (a + d) & MASK
        d = rotate(d, 21) ^ a
        c = (c + b) & MASK
        b = rotate(b, 17) ^ c
        c = rotate(c, 32)
    return [a, b, c, d]


def siphash(key, data):
    """SipHash-2-4, as bytes."""
    k = [int.from_bytes(key[i:i + 8], "little") for i in (0, 8)]
    v = [k[0] ^ 0x736F6D6570736575, k[1] ^ 0x646F72616E646F6D,
         k[0] ^ 0x6C7967656E657261, k[1] ^ 0x7465646279746573]
    data += bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for i in range(0, len(data), 8):
        word = int.from_bytes(data[i:i + 8], "little")
        v[3] ^= word
        v = mix(v, 2)
        v[0] ^= word
    v[2] ^= 0xFF
    v = mix(v, 4)
    return (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")


def worker_tag(handle, key, path):
    """key: the content of the key file."""
    subkey = hashlib.blake2b(b"tern handle worker\0", key=key,
                             digest_size=16).digest()
    return siphash(subkey, handle[:AT_WORKER] + path.encode())[:4]


def forge(handle, key, path, n):
    """Guess number n of the broker's tag, under a right tag of the worker."""
    guess = handle[:AT_BROKER] + n.to_bytes(4, "little")
    return guess + worker_tag(guess, key, path)
