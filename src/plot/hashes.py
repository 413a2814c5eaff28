#!/usr/bin/env python3
"""The hashes of the scripts that pages run, for their policy, as a C file.

usage: hashes.py OUTPUT.c SCRIPT...      (declared in page.h)
"""
import base64
import hashlib
import sys


def hash_of(name):
    with open(name, "rb") as file:
        return "'sha256-%s'" % base64.b64encode(hashlib.sha256(file.read()).digest()).decode()


with open(sys.argv[1], "w", encoding="ascii") as output:
    output.write('extern const char rps_page_hashes[];\nconst char rps_page_hashes[] = "%s";\n'
                 % " ".join(map(hash_of, sys.argv[2:])))
