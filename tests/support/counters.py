"""Are there hardware counters here? This is determined without rpistat, so that a recorder that lost
its hardware backend fails instead of being skipped.
"""
import ctypes
import os
import platform
import struct

import tap

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241, "armv6l": 364, "armv7l": 364}


def need_counters():
    """Skip the test unless two user-mode hardware counters are available."""
    call = PERF_EVENT_OPEN.get(platform.machine())
    if call is None:
        raise tap.Skip("the number of perf_event_open on a %s is not known" % platform.machine())
    libc = ctypes.CDLL(None, use_errno=True)
    for config, name in ((0, "cycles"), (1, "instructions")):
        # type, size, config, period, sample_type, read_format, flags: exclude_kernel, exclude_hv
        attr = struct.pack("=IIQQQQQ", 0, 112, config, 0, 0, 0, 1 << 5 | 1 << 6).ljust(112, b"\0")
        descriptor = libc.syscall(call, ctypes.c_char_p(attr), 0, -1, -1, ctypes.c_ulong(8))
        if descriptor < 0:
            raise tap.Skip("%s cannot be counted here: %s"
                           % (name, os.strerror(ctypes.get_errno())))
        value = struct.unpack("=Q", os.read(descriptor, 8))[0]
        os.close(descriptor)
        if value == 0:
            raise tap.Skip("%s can be opened here but do not count" % name)
