#!/usr/bin/env python3
"""No file of src calls, directly or through other files, a file that calls it: the files have an
order.

The order is read from what the compiler made: which object defines a name, and which asks for it.
The argument is the folder of the build.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402


def names(folder):
    """For each object below the folder, the names that it defines, and the names that it needs."""
    objects = [os.path.join(path, file) for path, _, files in os.walk(folder) for file in files
               if file.endswith(".o")]
    found = {name: (set(), set()) for name in objects}
    lines = subprocess.run(["nm", "-gPA"] + objects, check=True, capture_output=True,
                           text=True).stdout.splitlines()
    for line in lines:
        name, (word, kind, *_) = line.split(": ")[0], line.split(": ")[1].split()
        if kind in "TDBRC":
            found[name][0].add(word)
        elif kind == "U":
            found[name][1].add(word)
    return {os.path.relpath(name, folder): names for name, names in found.items()}


def arrows(found):
    """For each object, the objects that define what it needs."""
    owner = {name: file for file, (defined, _) in found.items() for name in defined}
    return {file: {owner[name] for name in asked if name in owner} - {file}
            for file, (_, asked) in found.items()}


def circle(to):
    """What is left after repeatedly removing objects that need none of the others, or that none of the
    others needs.
    """
    left = dict(to)
    while True:
        asked = {file for files in left.values() for file in files}
        ends = [file for file in left if not left[file] or file not in asked]
        if not ends:
            return left
        for file in ends:
            del left[file]
        left = {file: files - set(ends) for file, files in left.items()}


def check_project():
    r"""the files of src have an order"""
    found = names(os.path.join(sys.argv[1], "src"))
    assert len(found) > 200, "only %d objects below %s" % (len(found), sys.argv[1])
    left = circle(arrows(found))
    assert not left, "\n" + "\n".join(
        "%s asks %s for %s" % (file, other, " ".join(sorted(found[file][1] & found[other][0])))
        for file in sorted(left) for other in sorted(left[file]))


def check_notices():
    r"""detected: a circle of three; not detected: a file that two others need"""
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {}
    assert sorted(circle({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}})) == [
        "a", "b", "c"]


tap.main([check_project, check_notices])
