#!/usr/bin/env python3
"""The examples do what they describe: phases, products, chases, samples, predictions, digits.

usage: examples.py PHASED NAIVE INTERCHANGE CHASE LATENCY MICRO DECIMAL THREE SESSIONS
"""
import csv
import io
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402

PHASED, NAIVE, INTERCHANGE, CHASE, LATENCY, MICRO, DECIMAL, THREE, SESSIONS = map(os.path.abspath, sys.argv[1:10])


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, check=False)


def boundaries(*options, program=PHASED):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "boundaries.csv")
        done = run(program, "--boundaries", path, *options)
        assert done.returncode == 0 and not done.stdout and not done.stderr, done
        with open(path, encoding="ascii", newline="") as file:
            return list(csv.DictReader(file))


def check_order():
    """phased runs the phases in the given order, after its set-up"""
    rows = boundaries("--order", "sleep,touch,compute,sleep,syscall,chase-small,chase-large",
                      "--length", "10ms")
    assert [row["phase"] for row in rows] == [
        "setup", "sleep", "touch", "compute", "sleep", "syscall", "chase-small", "chase-large"]


def check_contiguous():
    """phases are contiguous, by both of their clocks"""
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
    """phases end no earlier than planned, whatever their lengths"""
    rows = boundaries("--order", "compute:20ms,sleep:0.03s,touch,sleep:20ms", "--length", "10ms")
    planned_ns = int(rows[0]["end_monotonic_ns"])
    for row, length_ms in zip(rows[1:], (20, 30, 10, 20)):
        planned_ns += length_ms * 1000000
        assert int(row["end_monotonic_ns"]) >= planned_ns, rows


def check_usage():
    """phased refuses wrong arguments with one sentence and status 2"""
    for options in (["--order", "walk"], ["--order", "compute:0"], ["--order", ""],
                    ["--order", "compute,"], ["--length", "-1"], ["--length", "1h"],
                    ["--length", "nan"], ["--threads", "0"], ["--threads", "2x"], ["extra"]):
        done = run(PHASED, *options)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (options, done)
    done = run(PHASED, "--boundaries", "/dev/null/none")
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done


def check_three():
    """three loads, solves and saves for the given CPU time each, most of it in the functions themselves"""
    rows = boundaries("--rounds", "2", "--length", "40ms", program=THREE)
    assert [row["phase"] for row in rows] == ["setup"] + 2 * ["load", "solve", "save"], rows
    cpu_s = own_s = 0
    for number, row in enumerate(rows[1:], 1):
        cpu_s += float(row["cpu_s"])
        own_s += float(row["own_s"])
        assert cpu_s > 0.04 * number - 1e-5, rows  # phases end no earlier than planned
        assert 0 < float(row["own_s"]) <= float(row["cpu_s"]) + 1e-5, row
        assert row["start_monotonic_ns"] == rows[number - 1]["end_monotonic_ns"], rows
    assert own_s > cpu_s / 2, rows


def check_three_plate():
    """the saved values of three are temperatures between those of the edges, higher near the hot edge"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plate")
        done = run(THREE, "--rounds", "2", "--length", "40ms", "--file", path)
        assert done.returncode == 0 and not done.stdout and not done.stderr, done
        with open(path, encoding="ascii") as file:
            values = [float(word) for word in file.read().split()]
    assert len(values) == 400 * 400 and values[:400] == [100.0] * 400, len(values)
    assert all(0 <= value <= 100 for value in values)
    column = values[200::400]
    assert column == sorted(column, reverse=True) and 50 < column[1] < 100 and column[-1] == 0, column


def check_three_usage():
    """three refuses wrong arguments with one sentence and status 2"""
    for options in (["--length", "0"], ["--rounds", "0"], ["extra"]):
        done = run(THREE, *options)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (options, done)
    for options in (["--boundaries", "/dev/null/none"], ["--file", "/dev/null/none"]):
        done = run(THREE, *options)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, (options, done)


def check_sessions():
    """sessions prints every second the number of answered requests, and refuses wrong arguments"""
    lines = output_of(SESSIONS, "--length", "2100ms", "--after", "1s", "--fixed").splitlines()
    matches = [re.fullmatch(r" *(\d+) s: +\d+ requests a second", line) for line in lines]
    assert 1 <= len(lines) <= 2 and all(matches), lines  # a busy machine may leave no time for the second
    assert all(int(match.group(1)) >= number for number, match in enumerate(matches, 1)), lines
    for options in (["--length", "0"], ["--after", "x"], ["extra"]):
        done = run(SESSIONS, *options)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (options, done)


def check_products():
    """naive and interchange print the same checksum, which depends on the size"""
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
    """the checksum is that of the product, computed here by definition"""
    size = 9
    a, b = lcg_matrix(size, 1), lcg_matrix(size, 2)
    total = 0
    for i in range(size):
        for j in range(size):
            product = sum(a[i][k] * b[k][j] for k in range(size))
            total += product * ((i * size + j) % 7 + 1)
    assert run(NAIVE, "-s", str(size)).stdout == "checksum %d\n" % total


def output_of(*command):
    """The standard output of a call that succeeds."""
    answer = run(*command)
    assert answer.returncode == 0, answer
    return answer.stdout


def check_new_usage():
    """the examples with a table of options have a help, and refuse wrong arguments"""
    for program, wrong in ((NAIVE, ["--size", "0"]), (CHASE, ["--chases", "0"]),
                           (CHASE, ["--sizes", "8,,9"]), (CHASE, ["--sizes", ""]),
                           (CHASE, ["--sizes", ",".join(["8"] * 33)]), (LATENCY, ["-s", "99"]),
                           (LATENCY, ["--sizes", "8k"]), (MICRO, ["--only", "loop,walk"]),
                           (MICRO, ["--turns", "x"]), (DECIMAL, ["--numbers", "-1"]),
                           (DECIMAL, ["extra"])):
        answer = run(program, *wrong)
        assert answer.returncode == 2 and answer.stderr.count("\n") == 1, (wrong, answer)
        assert not answer.stdout, answer
        assert "  -h, --help " in output_of(program, "--help"), program
        assert output_of(program, "-h") == output_of(program, "--help")


def chase_rows(*options):
    return list(csv.DictReader(io.StringIO(output_of(CHASE, *options))))


COUNTED = ["cpi", "dc_access", "dc_miss", "micro_tlb_miss", "main_tlb_miss", "external_access"]


def check_chase():
    """chase makes the same number of steps through each list, with one cache line per item"""
    rows = chase_rows("--chases", "65536")
    assert [row["size_kib"] for row in rows] == [str(4096 >> i) for i in range(10)], rows
    assert list(rows[0]) == ["size_kib", "cache_lines", "iterations", "time_s"] + COUNTED
    line = int(rows[0]["size_kib"]) * 1024 // int(rows[0]["cache_lines"])
    for row in rows:
        assert int(row["cache_lines"]) * line == int(row["size_kib"]) * 1024, row
        assert int(row["iterations"]) * int(row["cache_lines"]) == 65536, row
        assert float(row["time_s"]) >= 0 and not any(row[name] for name in COUNTED), row
    rows = chase_rows("--sizes", "64,16,100", "--chases", "1")
    assert [row["iterations"] for row in rows] == ["1"] * 3, rows  # at least one round


def check_chase_self():
    """chase --self counts an access for each step, and at least one cycle for each"""
    rows = chase_rows("--self", "--chases", "1000000", "--sizes", "256,16")
    if not rows[0]["dc_access"]:
        raise tap.Skip("accesses to the data cache cannot be counted here")
    for row in rows:
        steps = int(row["iterations"]) * int(row["cache_lines"])
        assert steps * 0.9 < int(row["dc_access"]) < steps * 1.5, row
        assert float(row["cpi"]) > 1, row
    if rows[0]["dc_miss"]:
        assert int(rows[1]["dc_miss"]) < int(rows[1]["dc_access"]) / 10, rows  # 16 KiB fit


def check_latency():
    """latency takes the requested number of samples in each list, and the same number for the bias"""
    rows = list(csv.DictReader(io.StringIO(output_of(
        LATENCY, "--csv", "--samples", "1000", "--sizes", "8,512"))))
    for kib in ("0", "8", "512"):
        mine = [row for row in rows if row["list_kib"] == kib]
        assert sum(int(row["samples"]) for row in mine) == 1000, mine
        ticks = [int(row["ticks"]) for row in mine]
        assert ticks == sorted(set(ticks)), ticks
    assert len({row["list_kib"] for row in rows}) == 3, rows
    text = output_of(LATENCY, "--samples", "1000", "--sizes", "8,512")
    assert "bias " in text and "\n8 KiB: " in text and "\n512 KiB: " in text, text
    drawn, above = 0, 0
    for row in text.split("\n512 KiB: ")[1].splitlines()[1:]:
        words = row.split()
        if words[0] != "hump":
            drawn += int(words[1])
            above += words[0] == "above"
    assert drawn == 1000 and above <= 1, text


def micro_rows(*options):
    return [line.split() for line in output_of(MICRO, *options).splitlines()]


def check_micro():
    r"""micro prints its predictions in the requested order"""
    rows = micro_rows("--only", "load,loop", "--turns", "5000")
    assert rows[0] == ["run", "figure", "predicted"], rows
    names = [row[0] for row in rows[1:]]
    assert names == sorted(names, key=["load", "loop"].index) and set(names) == {"load", "loop"}
    figures = {tuple(row[:2]): int(row[2]) for row in rows[1:]}
    assert figures["loop", "branches"] == figures["load", "branches"] == 5000, figures
    assert figures["load", "l1d_miss"] == 0, figures
    assert micro_rows("--only", "touch")[1:] == [["touch", "minor_faults", "4096"]]


def check_micro_self():
    """micro --self counts what it predicts"""
    rows = micro_rows("--only", "loop,load", "--self")
    counted = [row for row in rows[1:] if row[1] == "instructions" and row[3] != "-"]
    if not counted:
        raise tap.Skip("instructions cannot be counted here")
    for row in counted:
        assert abs(int(row[3]) - int(row[2])) < 0.02 * int(row[2]), row
        assert abs(float(row[4]) - 100 * (int(row[3]) / int(row[2]) - 1)) < 0.001, row


def decimal_numbers():
    """The 4096 numbers that decimal makes."""
    state, numbers = 20130626, []

    def random():
        nonlocal state
        state ^= state << 13 & 0xffffffff
        state ^= state >> 17
        state ^= state << 5 & 0xffffffff
        return state
    for _ in range(4096):
        number = random() << 32 | random()
        numbers.append(number >> (random() & 63))
    numbers[:2] = [0, 2**64 - 1]
    return numbers


def check_decimal():
    """decimal converts each number in each of its ways"""
    first_digits = sum(ord(str(number)[0]) for number in decimal_numbers())
    lines = output_of(DECIMAL, "--numbers", "4096").splitlines()
    assert lines[-1] == "checksum %d" % (3 * first_digits), (lines[-1], 3 * first_digits)
    assert [line.split()[0] for line in lines[:-1]] == ["way", "general", "constant", "reduced"]
    lines = output_of(DECIMAL, "--numbers", "4096", "--way", "constant").splitlines()
    assert lines[-1] == "checksum %d" % first_digits and lines[1].split()[0] == "constant", lines
    assert len(lines) == 3, lines
    wrong = run(DECIMAL, "--way", "other")
    assert wrong.returncode == 2 and "general, constant or reduced" in wrong.stderr, wrong


def check_self():
    r"""--self only adds columns to standard output, and reports on standard error"""
    counted = run(NAIVE, "--size", "60", "--self")
    assert counted.stdout == output_of(NAIVE, "--size", "60"), counted
    assert "multiply" in counted.stderr and counted.returncode == 0, counted
    counted = run(DECIMAL, "--numbers", "4096", "--self")
    assert counted.stdout.splitlines()[-1] == output_of(DECIMAL, "--numbers", "4096").splitlines()[-1]
    for way in ("general", "constant", "reduced"):
        assert way in counted.stderr, counted


tap.main([check_order, check_contiguous, check_lengths, check_usage, check_three,
          check_three_plate, check_three_usage, check_sessions, check_products, check_known_product,
          check_new_usage, check_chase, check_chase_self, check_latency, check_micro,
          check_micro_self, check_decimal, check_self])
