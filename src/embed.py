#!/usr/bin/env python3
"""Embed files into a C file as a table of {name, text, size}, ended by a NULL name, and as a list
SYMBOL_names of the same names without their endings, ended by NULL.

usage: embed.py OUTPUT.c SYMBOL FILE...      (the table's struct is declared in src/embed.h)
"""
import os
import sys

BYTE = ["%d," % byte if byte < 128 else "(char)%d," % byte for byte in range(256)]


def literal(data):
    lines = []
    for start in range(0, len(data), 24):
        lines.append("    " + "".join(BYTE[byte] for byte in data[start:start + 24]))
    return "\n".join(lines)


def main():
    output, symbol, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    parts = ['#include "embed.h"\n']
    rows = []
    for number, name in enumerate(files):
        with open(name, "rb") as file:
            data = file.read()
        parts.append("static const char text_%d[] = {\n%s\n    0};\n" % (number, literal(data)))
        rows.append('    {"%s", text_%d, %d},\n' % (os.path.basename(name), number, len(data)))
    parts.append("const struct rps_embedded %s[] = {\n%s    {0, 0, 0},\n};\n" % (symbol, "".join(rows)))
    names = "".join('"%s", ' % os.path.splitext(os.path.basename(name))[0] for name in files)
    parts.append("const char *const %s_names[] = {%s0};\n" % (symbol, names))
    with open(output, "w", encoding="ascii") as file:
        file.write("\n".join(parts))


main()
