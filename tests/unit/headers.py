#!/usr/bin/env python3
"""Each public header compiles alone, and twice in a row, as strict C11 without warnings.

usage: headers.py COMPILER...
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402

# locale_t and the like are POSIX, not C.
FLAGS = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
         "-fsyntax-only", "-x", "c", "-"]


def compile_text(text):
    """The compiler's messages about the text; empty if there are none."""
    command = sys.argv[1:] + ["-I", os.path.join(tap.root(), "include")] + FLAGS
    run = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         universal_newlines=True, check=False)
    return run.stdout if run.returncode else ""


def check_header(name):
    line = '#include "rpistat/%s"\n' % name
    wrong = compile_text(line + line + "extern int not_empty;\n")
    assert not wrong, "\n" + wrong


def check_detection():
    """a header that needs another header, or has no guard, would be detected"""
    assert "int32_t" in compile_text("int32_t rps_needs_stdint(void);\n")
    assert "redefinition" in compile_text("struct rps_twice { int a; };\n" * 2)


tap.main([(name, check_header, name)
          for name in sorted(os.listdir(os.path.join(tap.root(), "include", "rpistat")))
          if name.endswith(".h")] + [check_detection])
