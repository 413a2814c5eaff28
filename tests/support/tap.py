"""Tests in Python, reported in the Test Anything Protocol.

A test program has functions and ends with `tap.main([...])` of them. A case fails when it raises
(assert), is skipped when it raises tap.Skip(reason), and its name is its docstring's first line.
"""
import os
import sys
import traceback


class Skip(Exception):
    """The case cannot be run here; the argument says why."""


def root():
    """The project's folder."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def quarter(items):
    """Every fourth item, beginning at number $RPISTAT_TEST_QUARTER (0 to 3); without this variable, all items."""
    first = os.environ.get("RPISTAT_TEST_QUARTER")
    return items[int(first)::4] if first else items


def one_line(text):
    return " ".join(str(text).split()).replace("#", "")


def main(cases):
    """Run the cases, functions or (name, function, argument...), and exit with their status."""
    failed = 0
    print("TAP version 13")
    print("1..%d" % len(cases), flush=True)
    for number, case in enumerate(cases, 1):
        if callable(case):
            case = ((case.__doc__ or case.__name__).splitlines()[0], case)
        name, function, arguments = one_line(case[0]), case[1], case[2:]
        try:
            function(*arguments)
        except Skip as skip:
            print("ok %d - %s # SKIP %s" % (number, name, one_line(skip)), flush=True)
        except Exception:  # a broken case fails, and the others still run
            failed += 1
            for line in traceback.format_exc().splitlines():
                print("# " + line)
            print("not ok %d - %s" % (number, name), flush=True)
        else:
            print("ok %d - %s" % (number, name), flush=True)
    sys.exit(1 if failed else 0)
