#!/usr/bin/env python3
"""Another project's program: the installed files are enough to compile, link and run it.

usage: installed.py BUILD COMPILER...
"""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import tap  # noqa: E402

BUILD, COMPILER = sys.argv[1], sys.argv[2:]

PROGRAM = """
#include <rpistat/region.h>

int main(void)
{
    rps_region_open(NULL);
    rps_region_begin("critical");
    rps_region_end("critical");
    rps_region_report(stdout);
    return rps_region_count() == 1 ? 0 : 1;
}
"""


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    assert done.returncode == 0, "%s: %s" % (" ".join(command), done.stdout)
    return done.stdout


def find(folder, name):
    for path, _, files in os.walk(folder):
        if name in files:
            return os.path.join(path, name)
    raise AssertionError("%s was not installed" % name)


def installed(folder):
    """Install into the folder. Return the compiler's arguments from the pkg-config file."""
    if not shutil.which("pkg-config") or not shutil.which("meson"):
        raise tap.Skip("pkg-config or meson is not installed")
    run("meson", "install", "--no-rebuild", "--quiet", "-C", BUILD, "--destdir", folder)
    place = os.path.dirname(find(folder, "rpistat.pc"))
    environment = dict(os.environ, PKG_CONFIG_PATH=place)
    # --destdir moved everything, so the folders in the file are replaced.
    library = os.path.dirname(find(folder, "librpistat-region.a"))
    include = os.path.dirname(os.path.dirname(find(folder, "region.h")))
    return run("pkg-config", "--define-variable=libdir=" + library,
               "--define-variable=includedir=" + include, "--cflags", "--libs", "rpistat",
               env=environment).split()


def build_and_run(folder, compiler, suffix):
    arguments = installed(folder)
    source, program = os.path.join(folder, "main" + suffix), os.path.join(folder, "main")
    with open(source, "w", encoding="ascii") as file:
        file.write(PROGRAM)
    run(*compiler, "-Wall", "-Wextra", "-Werror", "-o", program, source, *arguments)
    text = run(program)
    assert "\nRegion critical\n" in text and "Entered:" in text, text


def check_c():
    """a C program compiles with the flags of pkg-config, links and measures itself"""
    with tempfile.TemporaryDirectory() as folder:
        build_and_run(folder, COMPILER, ".c")


def check_cxx():
    """the same program compiles as C++"""
    if not shutil.which("c++"):
        raise tap.Skip("there is no C++ compiler")
    with tempfile.TemporaryDirectory() as folder:
        build_and_run(folder, ["c++"], ".cc")


tap.main([check_c, check_cxx])
