"""Functions for the recipes in Python: marks of phases, and work that lasts a given time."""
import time


def mark(coarse, fine=None):
    with open("truth", "a", encoding="ascii") as file:
        file.write("%.6f coarse=%s%s\n" % (time.time(), coarse, " fine=" + fine if fine else ""))


def during(length_s, work):
    end = time.monotonic() + length_s
    while time.monotonic() < end:
        work()
