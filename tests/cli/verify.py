"""rpistat verify: known counts are confirmed, wrong ones are reported, and the status shows the
result.

usage: verify.py RPISTAT
"""
import re

from program import Folder, call, counting, expect, refused, tap

ROW = re.compile(r"^  (\w+) +(\S.*?) +(\d+) +(\d+|not counted) +(\S+(?: %| x)?)"
                 r" +([\d.]+) %(  WRONG.*)?$")

# An event with another event's role: its count is right for the event, and wrong for the role.
SETS = """\
[plan]
name = claim
[event one]
event = minor-faults
label = The one
role = {role}
[set all]
events = one
"""


class Row:
    def __init__(self, match):
        self.workload, self.label = match.group(1, 2)
        self.expected = int(match.group(3))
        self.measured = None if match.group(4) == "not counted" else int(match.group(4))
        self.tolerance = float(match.group(6)) / 100
        self.wrong = bool(match.group(7))


def rows(text):
    return [Row(match) for match in map(ROW.match, text.splitlines()) if match]


def find(text, workload, label):
    found = [row for row in rows(text) if (row.workload, row.label) == (workload, label)]
    assert len(found) == 1, "%s %s: %d rows in\n%s" % (workload, label, len(found), text)
    return found[0]


def test_software():
    """page faults of touched pages are within their tolerance, and the sums agree"""
    counting()
    answer = call("verify", "--pmu", "software")
    faults = find(answer.stdout, "touch", "Minor faults")
    assert {len(line) for line in answer.stdout.splitlines() if line.endswith("tolerance") and "event" in line} == {80}
    assert faults.expected == 4096 and not faults.wrong, vars(faults)
    assert abs(faults.measured - faults.expected) <= faults.tolerance * faults.expected
    wrong = sum(row.wrong for row in rows(answer.stdout))
    last = answer.stdout.splitlines()[-1]
    assert last == "%d of %d within tolerance" % (len(rows(answer.stdout)) - wrong,
                                                  len(rows(answer.stdout))), answer.stdout
    expect(answer, 1 if wrong else 0)
    assert not answer.stderr, answer.stderr


def test_wrong_event():
    """an event that does not count what its role says is reported as wrong, with status 1"""
    counting()
    with Folder() as folder:
        folder.write("claim.ini", SETS.format(role="context_switches"))
        answer = expect(folder.call("verify", "--sets", "./claim.ini"), 1)
        assert find(answer.stdout, "sleep", "The one").wrong, answer.stdout
        assert "0 of 1 within tolerance" in answer.stdout, answer.stdout
        quiet = expect(folder.call("verify", "-q", "--sets", "./claim.ini"), 1)
        assert len(quiet.stdout.splitlines()) == 1 and rows(quiet.stdout)[0].wrong, quiet.stdout


def test_right_event():
    """the same event in its own role is right; with -q there is no output; -o takes a file"""
    counting()
    with Folder() as folder:
        folder.write("claim.ini", SETS.format(role="minor_faults"))
        expect(folder.call("verify", "--sets", "./claim.ini", "-o", "verify.txt"), 0)
        text = folder.read("verify.txt").decode()
        assert not find(text, "touch", "The one").wrong, text
        answer = expect(folder.call("verify", "-q", "--sets", "./claim.ini"), 0)
        assert not answer.stdout, answer.stdout


def test_nothing_to_verify():
    """events without a prediction are named as such"""
    counting()
    with Folder() as folder:
        folder.write("claim.ini", SETS.format(role="none_such"))
        answer = expect(folder.call("verify", "-q", "--sets", "./claim.ini"), 1)
        assert "none of these events has a prediction" in answer.stderr, answer.stderr


def test_refused():
    """what cannot be verified is refused with a sentence"""
    refused(call("verify", "--pmu", "sim:x"), 2, "--pmu sim:x")
    refused(call("verify", "--pmu", "nonsense"), 2, "nonsense")
    refused(call("verify", "operand"), 2, "operand")


def test_hardware():
    """the processor's counters count a loop's instructions within 0.1 %"""
    answer = call("events", "--pmu", "hardware", "instructions")
    if answer.returncode != 0:
        raise tap.Skip("instructions cannot be counted here: "
                       + (answer.stdout + answer.stderr).strip().splitlines()[-1])
    answer = call("verify", "--pmu", "hardware", timeout=280)
    loop = find(answer.stdout, "loop", "Instructions")
    assert not loop.wrong and loop.measured >= loop.expected, answer.stdout
    assert "All the time, compared with in turns" in answer.stdout, answer.stdout
    expect(answer, 1 if any(row.wrong for row in rows(answer.stdout)) else 0)


tap.main([test_software, test_wrong_event, test_right_event, test_nothing_to_verify, test_refused,
          test_hardware])
