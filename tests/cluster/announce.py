#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Announces addresses as a manager does: to neighbours, by ARP and ICMPv6.

    announce.py INTERFACE IPV4 IPV6

Runs in: the tests, on a head.
"""
import socket
import struct
import sys

EVERY = b"\xff" * 6
NODES = socket.inet_pton(socket.AF_INET6, "ff02::1")


def arp(mac, four):
    """A gratuitous ARP: a question for the own address."""
    head = struct.pack("!HHBBH", 1, 0x800, 6, 4, 1)
    return EVERY + mac + b"\x08\x06" + head + mac + four + EVERY + four


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


def advertisement(mac, six):
    """An unsolicited one, with the flag "override" and our hardware address."""
    news = struct.pack("!BBHI", 136, 0, 0, 0x20000000) + six + b"\x02\x01" + mac
    over = six + NODES + struct.pack("!II", len(news), 58)
    news = news[:2] + checksum(over + news) + news[4:]
    head = struct.pack("!IHBB", 6 << 28, len(news), 58, 255)
    to = b"\x33\x33\x00\x00\x00\x01"
    return to + mac + b"\x86\xdd" + head + six + NODES + news


def main():
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((sys.argv[1], 0))
    mac = s.getsockname()[4]
    for _ in range(3):
        s.send(arp(mac, socket.inet_aton(sys.argv[2])))
        s.send(advertisement(mac, socket.inet_pton(socket.AF_INET6,
                                                   sys.argv[3])))


if __name__ == "__main__":
    main()
