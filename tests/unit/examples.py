#!/usr/bin/env python3
"""The example workloads do what they say: order and lengths of phases, and equal products.

usage: examples.py PHASED NAIVE INTERCHANGE
"""
import csv
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402

PHASED, NAIVE, INTERCHANGE = map(os.path.abspath, sys.argv[1:4])


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, check=False)


def boundaries(*options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "boundaries.csv")
        done = run(PHASED, "--boundaries", path, *options)
        assert done.returncode == 0 and not done.stdout and not done.stderr, done
        with open(path, encoding="ascii", newline="") as file:
            return list(csv.DictReader(file))


def check_order():
    """phased goes through the phases in the order given, after its set-up"""
    rows = boundaries("--order", "sleep,touch,compute,sleep,syscall,chase-small,chase-large",
                      "--length", "10ms")
    assert [row["phase"] for row in rows] == [
        "setup", "sleep", "touch", "compute", "sleep", "syscall", "chase-small", "chase-large"]


def check_contiguous():
    """phases follow one another without a gap, on both of their clocks"""
    rows = boundaries("--length", "10ms", "--threads", "3")
    assert float(rows[0]["start_s"]) == 0
    zero_ns = int(rows[0]["start_monotonic_ns"])
    for before, after in zip(rows, rows[1:]):
        assert before["end_s"] == after["start_s"], rows
        assert before["end_monotonic_ns"] == after["start_monotonic_ns"], rows
    for row in rows:
        since_ns = int(row["end_monotonic_ns"]) - zero_ns
        assert abs(float(row["end_s"]) - since_ns / 1e9) < 1e-6, row


def check_lengths():
    """ends of phases come no sooner than planned, whatever their lengths"""
    rows = boundaries("--order", "compute:20ms,sleep:0.03s,touch,sleep:20ms", "--length", "10ms")
    planned_ns = int(rows[0]["end_monotonic_ns"])
    for row, length_ms in zip(rows[1:], (20, 30, 10, 20)):
        planned_ns += length_ms * 1000000
        assert int(row["end_monotonic_ns"]) >= planned_ns, rows


def check_usage():
    """phased refuses what makes no sense with one sentence and status 2"""
    for options in (["--order", "walk"], ["--order", "compute:0"], ["--order", ""],
                    ["--order", "compute,"], ["--length", "-1"], ["--length", "1h"],
                    ["--length", "nan"], ["--threads", "0"], ["--threads", "2x"], ["extra"]):
        done = run(PHASED, *options)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (options, done)
    done = run(PHASED, "--boundaries", "/dev/null/none")
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done


def check_products():
    """naive and interchange print the same checksum, another one for another size"""
    sums = [run(program, "--size", size).stdout
            for size in ("60", "61") for program in (NAIVE, INTERCHANGE)]
    assert sums[0].startswith("checksum ") and sums[0] == sums[1], sums
    assert sums[2] == sums[3] != sums[0], sums


def lcg_matrix(size, random):
    """The matrix that the examples make from a seed."""
    rows = []
    for _ in range(size):
        row = []
        for _ in range(size):
            random = (random * 1664525 + 1013904223) % 2**32
            row.append(random >> 29)
        rows.append(row)
    return rows


def check_known_product():
    """the checksum is that of the product, calculated here by definition"""
    size = 9
    a, b = lcg_matrix(size, 1), lcg_matrix(size, 2)
    total = 0
    for i in range(size):
        for j in range(size):
            product = sum(a[i][k] * b[k][j] for k in range(size))
            total += product * ((i * size + j) % 7 + 1)
    assert run(NAIVE, "-n", str(size)).stdout == "checksum %d\n" % total


tap.main([check_order, check_contiguous, check_lengths, check_usage, check_products,
          check_known_product])
