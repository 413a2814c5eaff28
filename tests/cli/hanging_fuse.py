"""A FUSE file system with one file, "library.so", which answers until it is stopped.

usage: hanging_fuse.py FILE DIRECTORY: mounts on DIRECTORY what FILE holds, and writes "mounted".
"""
import ctypes
import os
import stat
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 18, 25, 26


def attributes(inode, data):
    mode = stat.S_IFDIR | 0o755 if inode == 1 else stat.S_IFREG | 0o755
    size = 0 if inode == 1 else len(data)
    return struct.pack("=6Q10I", inode, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, body, data, inode):
    """Send the reply; a negative value is an errno; None sends no reply."""
    if opcode == INIT:
        return struct.pack("=4I2H2I2H8I", 7, 31, 65536, 0, 16, 12, 65536, 1, 16, 0, *[0] * 8)
    if opcode == LOOKUP:
        if body != b"library.so\0":
            return -2
        return struct.pack("=4Q2I", 2, 0, 0, 0, 0, 0) + attributes(2, data)
    if opcode == GETATTR:
        return struct.pack("=QII", 0, 0, 0) + attributes(inode, data)
    if opcode == OPEN:
        return struct.pack("=QII", 1, 2, 0)  # the existing pages stay
    if opcode == READ:
        _, offset, size = struct.unpack_from("=QQI", body)
        return data[offset:offset + size]
    if opcode in (RELEASE, FLUSH):
        return b""
    return None if opcode == FORGET else -38


def main(path, directory):
    with open(path, "rb") as file:
        data = file.read()
    device = os.open("/dev/fuse", os.O_RDWR)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % device
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"hanging", directory.encode(), b"fuse", 0, options.encode()) != 0:
        sys.exit(1)
    print("mounted", flush=True)
    while True:
        message = os.read(device, 135168)
        _, opcode, unique, inode = struct.unpack_from("=IIQQ", message)
        reply = answer(opcode, message[40:], data, inode)
        if reply is None:
            continue
        error = reply if isinstance(reply, int) else 0
        body = b"" if error else reply
        os.write(device, struct.pack("=IiQ", 16 + len(body), error, unique) + body)


main(sys.argv[1], sys.argv[2])
