"""The phases of a real workload that says itself when they began: examples/phased, in five
orders (three with software events, which tell working from calling the kernel by a tracepoint: where
tracefs is not mounted, root does it in a mount namespace of the test's own).

usage: phases.py RPISTAT PHASED
"""
import collections
import csv
import io
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402
import tracefs  # noqa: E402
from recording import Recording  # noqa: E402

RPISTAT, PHASED = map(os.path.abspath, sys.argv[1:3])
PERIOD, LENGTH = "50ms", "1200ms"
MARGIN = 3  # the permitted error of a boundary, in periods
ATTEMPTS = 5  # recordings: other programs use CPU time and caches, which changes phases
EXTRA_MAX = 3  # additional phases: a real workload varies

ORDERS = ["compute,touch,chase-small,sleep,chase-large,touch,syscall",
          "sleep,compute,sleep,syscall,touch,compute",
          "chase-large,compute,chase-large,compute,touch",
          "syscall,touch,syscall,sleep,touch,syscall",
          "touch,chase-small,touch,compute,sleep,compute"]

# The counted events. System calls, which are not counted by default, distinguish two of the phases.
OPTIONS = {"hardware": [], "software": ["--scenario", "syscalls"]}
# The kernel's own events cannot distinguish kinds of computing. Samples can, unless one function
# does both.
COUNTED_SAME = {"chase-small": "compute", "chase-large": "compute"}
SAMPLED_SAME = {"chase-small": "chase", "chase-large": "chase"}


def call(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=False, timeout=120)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def read_truth(path, recording, same):
    """[(name, first period, period after the last)] of the phases after the set-up, with equal neighbours merged."""
    zero = recording.one("SELECT start_monotonic_ns FROM run WHERE run_id = ?", recording.run)
    ends = [row[0] for row in recording.rows(
        "SELECT start_ns + length_ns FROM period WHERE run_id = ? ORDER BY period", recording.run)]

    def period(monotonic_ns):
        return sum(end <= int(monotonic_ns) - zero for end in ends)

    truth = []
    with open(path, encoding="ascii", newline="") as file:
        for row in list(csv.DictReader(file))[1:]:
            name = same.get(row["phase"], row["phase"])
            first, end = period(row["start_monotonic_ns"]), period(row["end_monotonic_ns"])
            if truth and truth[-1][0] == name:
                truth[-1] = (name, truth[-1][1], end)
            else:
                truth.append((name, first, end))
    return truth


def record(store, boundaries, order, pmu):
    """A recording, as the pairs (true phases, found phases) that must agree."""
    call(RPISTAT, "record", "-q", "--pmu", pmu, *OPTIONS[pmu], "--period", PERIOD, "-o", store, "--",
         PHASED, "--order", order, "--length", LENGTH, "--boundaries", boundaries)
    recording = Recording(store)

    def found(*options):
        return [(row["label"], int(row["first"]), int(row["last"])) for row in csv.DictReader(
            io.StringIO(call(RPISTAT, "phases", "-i", store, "--format", "csv", *options)))]

    if pmu == "hardware":
        return [(read_truth(boundaries, recording, {}), found())]
    pairs = [(read_truth(boundaries, recording, COUNTED_SAME), found("--no-samples"))]
    if recording.rows("SELECT 1 FROM code_count LIMIT 1"):
        pairs.append((read_truth(boundaries, recording, SAMPLED_SAME), found()))
    return pairs


def check_found(truth, rows):
    starts = [first for _, first, _ in rows]
    said = "\ntrue: %s\nfound: %s" % (truth, rows)
    for name, first, _ in truth[1:]:
        assert min(abs(start - first) for start in starts) <= MARGIN, "no boundary at " + name + said
    assert len(rows) <= len(truth) + EXTRA_MAX, "too many phases" + said

    labels = {}  # for each class, the true phase with most of its time
    for name, first, end in truth:
        time = collections.Counter()
        for label, start, last in rows:
            time[label] += max(0, min(end, last + 1) - max(first, start))
        label = time.most_common(1)[0][0]
        assert labels.setdefault(name, label) == label, "%s is not %s again%s" % (
            name, labels[name], said)
    assert len(set(labels.values())) == len(labels), "one label for two" + said


def check_order(pmu, order):
    with tempfile.TemporaryDirectory() as folder:
        for attempt in range(ATTEMPTS):
            name = os.path.join(folder, str(attempt))
            try:
                for truth, found in record(name + ".data", name + ".csv", order, pmu):
                    check_found(truth, found)
                break
            except AssertionError as error:
                print("# recording %d: %s" % (attempt + 1, str(error).replace("\n", "\n#   ")))
                if attempt + 1 == ATTEMPTS:
                    raise


def backends():
    """The available backends, as record accepts them."""
    return [pmu for pmu, event in [("hardware", "instructions"), ("software", "syscalls")]
            if tracefs.can_count(RPISTAT, pmu, event)]


def nothing():
    raise tap.Skip("neither instructions nor system calls can be counted here: " + subprocess.run(
        [RPISTAT, "events", "--pmu", "software", "syscalls"], stdout=subprocess.PIPE, text=True,
        stderr=subprocess.STDOUT, check=False).stdout)


tracefs.begin_again(RPISTAT)
CASES = [("%s: %s" % (pmu, order), check_order, pmu, order)
         for pmu in backends() for order in (ORDERS if pmu == "hardware" else ORDERS[:3])]
tap.main(CASES or [("phases of a real workload", nothing)])
