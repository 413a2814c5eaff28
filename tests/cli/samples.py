"""Real samples of programs whose functions have known shares: threads, places and names.

usage: samples.py RPISTAT FOLDER THREE PHASED   FOLDER has known, known-static, known-stripped, libknown.so
"""
import csv
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time

import program
from program import RPISTAT, Folder, ask_store, environment, expect, tap

from words import CODE_TITLE

BUILT, THREE, PHASED = map(os.path.abspath, sys.argv[2:5])
MS = 400  # CPU time of a program: 40 samples at 99 Hz, 800 at 1,997


def known(name="known"):
    return os.path.join(BUILT, name)


def record(folder, *arguments, store="s.data"):
    answer = program.call("record", "--pmu", "software", "-o", store, *arguments, cwd=folder.path)
    if "no samples" in answer.stderr:
        raise tap.Skip(answer.stderr)
    return expect(answer, 0)


def ask(folder, sql, *values, store="s.data"):
    return ask_store(folder / store, sql, values)


# Self samples by function, and the file of the module; inlined functions count separately. Frames
# without names have the reason of their module.
SHARES = """
SELECT coalesce(l.function, (SELECT why.function FROM location AS why JOIN frame USING (run_id, frame)
                             WHERE run_id = f.run_id AND module = f.module AND why.how = 'none')),
       coalesce(l.how, 'none'), m.path, sum(c.samples)
FROM stack_count AS c JOIN stack_frame AS s USING (run_id, stack) JOIN frame AS f USING (run_id, frame)
JOIN module AS m USING (run_id, module)
LEFT JOIN location AS l ON l.run_id = f.run_id AND l.frame = f.frame AND l.depth = ?
WHERE m.kind <> 'kernel' GROUP BY 1, 2, 3 ORDER BY 4 DESC"""


def shares(folder, depth=0, store="s.data"):
    """{function: share of the samples outside the kernel}"""
    rows = ask(folder, SHARES, depth, store=store)
    total = sum(row[3] for row in rows)
    found = {}
    for function, _, _, samples in rows:
        found[function] = found.get(function, 0) + samples / total
    return found, total


def near(found, expected, points, what):
    assert abs(found - expected) * 100 <= points, (what, found, expected)


def counts_fit(folder, store="s.data"):
    """Stacks and tasks were counted as often as samples were taken, and check finds no fault."""
    (taken,), = ask(folder, "SELECT samples FROM sampling", store=store)
    for table in ("stack_count", "task_count"):
        (counted,), = ask(folder, "SELECT total(samples) FROM " + table, store=store)
        assert counted == taken > 0, (table, counted, taken)
    expect(program.call("check", "-i", store, cwd=folder.path), 0)


def check_killed():
    """names are found during the recording: a live run has them, and a run whose recorder was killed too"""
    with Folder() as folder:
        with subprocess.Popen([RPISTAT, "record", "--pmu", "software", "-q", "--commit", "0", "-o", "s.data", known(), "600000"],
                              cwd=folder.path, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as recorder:
            named = 0
            while recorder.poll() is None and named < 2:
                if os.path.exists(folder / "s.data"):
                    (named,), = ask(folder, "SELECT count(*) FROM location WHERE function IN ('alpha', 'beta')")
                    (sampled,), = ask(folder, "SELECT count(*) FROM sampling")
                    (periods,), = ask(folder, "SELECT count(*) FROM period")
                    if periods > 0 and sampled == 0:
                        recorder.terminate()
                        raise tap.Skip("no samples here")
                time.sleep(0.05)
            live = {command: expect(program.call(command, "-i", "s.data", cwd=folder.path), 0).stdout
                    for command in ("code", "report", "phases")}
            (workload,) = os.popen("pgrep -P %d known" % recorder.pid).read().split()
            recorder.kill()
            os.kill(int(workload), signal.SIGKILL)
        assert "alpha" in live["code"] and "alpha" in live["report"], live
        killed = expect(program.call("code", "-i", "s.data", cwd=folder.path), 0).stdout
        assert "alpha" in killed and "known.c" in killed, killed
        expect(program.call("check", "-i", "s.data", cwd=folder.path), 0)
        ask(folder, "UPDATE heartbeat SET realtime_ns = realtime_ns - 3600000000000")  # as if it was an hour ago
        expect(program.call("merge", "-i", "all.data", "s.data", cwd=folder.path), 0)
        assert ask(folder, "SELECT * FROM location", store="all.data") == ask(folder, "SELECT * FROM location")
        expect(program.call("check", "-i", "all.data", cwd=folder.path), 0)
        assert "alpha" in expect(program.call("code", "-i", "all.data", cwd=folder.path), 0).stdout


def check_known():
    """functions have their known shares, an inlined function separately; samples follow CPU time"""
    with Folder() as folder:
        stolen = program.Stolen()  # no samples are taken while another virtual machine uses the CPU
        record(folder, "--frequency", "1997", known(), str(MS))
        found, total = shares(folder)
        (lost,), = ask(folder, "SELECT lost FROM sampling")  # a late recorder loses samples
        total += lost
        near(found["alpha"], 0.7, 5, "alpha")
        near(found["work_inlined"], 0.3, 5, "work_inlined")
        outer, _ = shares(folder, 1)
        near(outer["beta"], 0.3, 5, "beta")
        assert 0.6 * MS - stolen.ns() / 1e6 < total / 2 < 1.3 * MS, total
        rows = ask(folder, SHARES, 0)
        assert all(how == "debug" for name, how, _, _ in rows if name in ("alpha", "work_inlined"))
        (file, line), = ask(folder, "SELECT DISTINCT file, max(line) FROM location WHERE function = 'alpha'")
        assert file.endswith("known.c") and line > 0, (file, line)
        counts_fit(folder)


def callers(folder, store="s.data"):
    """Of the samples in alpha, the share with the caller rounds, and the share whose outermost frame is _start."""
    rows = ask(folder, """
        WITH RECURSIVE chain (leaf, stack, depth) AS (
            SELECT s.stack, s.stack, 0 FROM stack_frame AS s JOIN location AS l USING (run_id, frame)
            WHERE l.function = 'alpha' AND l.depth = 0
            UNION ALL SELECT c.leaf, s.parent, c.depth + 1 FROM chain AS c JOIN stack_frame AS s USING (stack)
            WHERE s.parent IS NOT NULL)
        SELECT c.leaf, c.depth, l.function, n.samples FROM chain AS c JOIN stack_frame AS s USING (stack)
        JOIN location AS l USING (run_id, frame) JOIN (SELECT stack AS leaf, sum(samples) AS samples
            FROM stack_count GROUP BY 1) AS n ON n.leaf = c.leaf
        ORDER BY c.leaf, c.depth""", store=store)
    total = sum(row[3] for row in rows if row[1] == 0)
    called = sum(row[3] for row in rows if row[1] == 1 and row[2] == "rounds")
    whole = sum(row[3] for row in rows if row[2] in ("_start", "__libc_start_main", "__libc_start_main_impl",
                                                     "__libc_start_call_main", "main"))
    return called / total, whole / total


def record_whole(folder, samples, *arguments, store="s.data"):
    """Record the program until there are enough samples, and 98 % of them have their callers: at first, a starved recorder has no time to
    find callers."""
    record_until(folder, store, samples, "SELECT (complete > 0.98 * samples) * samples FROM sampling",
                 options=(*arguments, "600000"), status=128 + signal.SIGINT)


def check_callers():
    """callers are found with frame pointers; without these, with the debug information"""
    with Folder() as folder:
        record_whole(folder, 500, "--frequency", "1997", known("known-fp"))
        called, whole = callers(folder)
        assert called > 0.95 and whole > 0.95, (called, whole)
        record_whole(folder, 200, "--frequency", "499", "--stacks", "dwarf", known(), store="dwarf.data")
        called, whole = callers(folder, "dwarf.data")
        assert called > 0.95 and whole > 0.9, (called, whole)
        record(folder, "--frequency", "997", "--stacks", "none", known(), "100", store="none.data")
        assert ask(folder, "SELECT count(*) FROM stack_frame WHERE parent IS NOT NULL", store="none.data") == [(0,)]


def totals(folder, store):
    """The number of samples, and each function's share of samples whose stack contains it."""
    code = json.loads(expect(program.call("code", "-i", store, "--format", "json", cwd=folder.path), 0).stdout)
    return code["sampling"], {row["name"]: row["total_share"] for row in code["code"]}


def check_leaves():
    """callers of functions without frames, such as the C library's, are found by default; with frame pointers alone they are missing"""
    with Folder() as folder:
        for name in ("calls", "calls-fp"):
            record_whole(folder, 800, "--frequency", "1997", known(name), store=name)
            sampling, found = totals(folder, name)
            if sampling["callers"] == "fp":
                raise tap.Skip("stacks are not copied here")
            assert sampling["callers"] == "auto", sampling
            near(found["asks"], 0.75, 5, name)
            near(found["computes"], 0.25, 5, name)
            assert found["main"] > 0.97 and sampling["complete"] > 0.97 * sampling["taken"], (found, sampling)
        record(folder, "--frequency", "997", "--stacks", "fp", known("calls-fp"), str(MS), store="fp")
        sampling, found = totals(folder, "fp")
        assert sampling["callers"] == "fp" and found.get("asks", 0) < 0.2 and found["main"] > 0.9, (sampling, found)
        text = expect(program.call("code", "-i", "fp", cwd=folder.path), 0).stdout
        assert "(by frame pointers; the callers of functions without a frame are missing" in " ".join(text.split()), text


def section(data, wanted):
    """The start and end of the section with this name in a 64-bit ELF file."""
    start, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(count)]
    for name, _, _, _, offset, length in headers:
        at = headers[names][4] + name
        if data[at:data.index(b"\0", at)] == wanted:
            return offset, offset + length
    raise tap.Skip("the program has no " + wanted.decode())


def unwinders(recorder):
    """The processes that the recorder has forked for unwinding, once its workload runs."""
    found = set()
    with open("/proc/%d/task/%d/children" % (recorder, recorder), encoding="ascii") as file:
        children = file.read().split()
    for pid in children:
        try:
            if os.path.samefile("/proc/%s/exe" % pid, RPISTAT):
                found.add(int(pid))
        except OSError:
            pass  # it has ended
    return found


def check_hostile():
    """attacks in call frame information, and the death of the process that reads it: the recorder continues, and its status is the workload's"""
    if struct.calcsize("P") != 8 or sys.byteorder != "little":
        raise tap.Skip("damage is done to files of 64 bits, lowest byte first")
    with open(known(), "rb") as file:
        sound = file.read()
    first, last = section(sound, b".eh_frame")
    with Folder() as folder:
        for seed in range(4):
            chance, damaged = random.Random(seed), bytearray(sound)
            for _ in range(1 + 20 * seed):
                damaged[chance.randrange(first, last)] = chance.choice((0, 0x7f, 0x80, 0xff, chance.randrange(256)))
            copy, store = folder / "copy%d" % seed, "s%d.data" % seed
            with open(copy, "wb") as file:
                file.write(damaged)
            os.chmod(copy, 0o755)
            answer = program.call("record", "--pmu", "software", "-o", store, "--frequency", "499", *(("--stacks", "dwarf") if seed % 2 else ()),
                                  "sh", "-c", "%s 200; exit 7" % copy, cwd=folder.path)
            if "no samples" in answer.stderr:
                raise tap.Skip(answer.stderr)
            assert answer.returncode == 7, (seed, answer)
            counts_fit(folder, store)
        recorder = subprocess.Popen([RPISTAT, "record", "-q", "--pmu", "software", "-o", "killed.data", "--frequency", "499",
                                     "sh", "-c", "> begun; while [ ! -e stop ]; do cp %s k$$$i; ./k$$$i 30; rm k$$$i; i=$((i + 1)); done; "
                                     "exit 7" % known()], cwd=folder.path, env=environment())
        killed = set()
        while not os.path.exists(folder / "begun") and recorder.poll() is None:
            time.sleep(0.01)
        while len(killed) < 2 and recorder.poll() is None:
            for pid in sorted(unwinders(recorder.pid) - killed)[:2 - len(killed)]:
                os.kill(pid, signal.SIGSEGV)
                killed.add(pid)
            time.sleep(0.01)
        open(folder / "stop", "wb").close()
        assert recorder.wait() == 7 and len(killed) == 2, (recorder.returncode, killed)
        counts_fit(folder, "killed.data")


def record_moved(folder, store, command):
    """Record `copy`. When its path and enough samples are in the store, run a command that moves it."""
    script = "./copy 1000000 & until [ -e %s.go ]; do sleep 0.02; done; %s; kill $!; wait; true" % (store, command)
    record_until(folder, store, 40, "SELECT total(samples) FROM stack_count WHERE EXISTS"
                 " (SELECT 1 FROM module WHERE path LIKE '%/copy')",
                 options=("sh", "-c", script), end=lambda _: folder.write(store + ".go", ""))


def check_files():
    """a static and a stripped program, an unloaded library, a program that is deleted or rebuilt meanwhile"""
    with Folder() as folder:
        record(folder, "--frequency", "1997", known("known-static"), str(MS))
        near(shares(folder)[0]["alpha"], 0.7, 7, "static")

        record(folder, "--frequency", "997", known("known-stripped"), "100", store="stripped.data")
        rows = ask(folder, SHARES, 0, store="stripped.data")
        assert rows[0][1] == "none" and "stripped" in rows[0][0], rows[:3]

        record(folder, "--frequency", "1997", known(), str(MS), known("libknown.so"), store="library.data")
        found, _ = shares(folder, store="library.data")
        near(found["gamma_part"], 0.5, 7, "library")
        near(found["alpha"], 0.35, 7, "after it")

        for what, reason in (("rm", "not there"), ("cp %s" % known("known-fp"), "another build")):
            copy = folder / "copy"
            shutil.copy(known(), copy)
            store = what.split()[0] + ".data"
            record_moved(folder, store, "mv copy gone-%s; %s" % (store, "true" if what == "rm" else what + " copy"))
            rows = [row for row in ask(folder, SHARES, 0, store=store) if row[2].endswith("/copy")]
            assert rows and rows[0][1] == "none" and reason in rows[0][0], (what, rows)


def check_resolve():
    """missing names are found later in files that the user names; other names are unchanged"""
    with Folder() as folder:
        shutil.copy(known(), folder / "copy")
        record_moved(folder, "s.data", "mv copy moved")
        before = [row for row in ask(folder, SHARES, 0) if row[1] != "none"]
        text = expect(program.call("code", "-i", "s.data", cwd=folder.path), 0).stdout
        assert "without symbols" in text and "/copy: not there any more" in text, text
        expect(program.call("code", "-i", "s.data", "--resolve", cwd=folder.path), 0)
        assert [row for row in ask(folder, SHARES, 0) if row[1] != "none"] == before
        text = expect(program.call("code", "-i", "s.data", "--resolve", "--binaries", "moved", cwd=folder.path), 0).stdout
        assert "alpha" in text and "/copy: " not in text, text
        assert [row for row in ask(folder, SHARES, 0) if row[1] != "none" and not row[2].endswith("/copy")] == before


def check_none():
    """--no-samples leaves no rows; if the requested sampling is impossible, the reason is printed before the start"""
    with Folder() as folder:
        record(folder, "--no-samples", known(), "100")
        assert ask(folder, "SELECT count(*) FROM sampling") == [(0,)]
        answer = program.call("record", "--sample", "nonsense-event:10", known(), "10", cwd=folder.path)
        assert answer.returncode != 0 and "nonsense-event" in answer.stderr, answer.stderr
        assert answer.stderr.count("\n") == 1, answer.stderr


def check_threshold():
    """--sample EVENT:N takes a sample every N events: page faults in the functions that cause them"""
    with Folder() as folder:
        record(folder, "--sample", "page-faults:7", "/usr/bin/python3", "-c", "x = bytearray(1 << 26)")
        (event, threshold, taken), = ask(folder, "SELECT event, threshold, samples FROM sampling")
        assert event == "page-faults" and threshold == 7, (event, threshold)
        assert taken > (1 << 26) // 4096 / 7 * 0.5, taken
        text = expect(program.call("report", "-i", "s.data", cwd=folder.path), 0).stdout
        assert "\npage-faults by function (%d samples;" % taken in text and CODE_TITLE not in text, text


def interrupt(recorder):
    recorder.send_signal(signal.SIGINT)


def record_until(folder, store, samples, sql, *values, options=(), end=interrupt, status=0):
    """Record until a query of the store finds this number of samples, however long this takes on a loaded machine."""
    recorder = subprocess.Popen([RPISTAT, "record", "-q", "--pmu", "software", "--commit", "0", "-o", store, *options],
                                cwd=folder.path, env=environment(), stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + program.TIMEOUT
        while recorder.poll() is None and not (has_periods(folder, store) and ask(folder, sql, *values, store=store)[0][0] >= samples):
            if has_periods(folder, store) and not ask(folder, "SELECT 1 FROM sampling", store=store):
                raise tap.Skip("no samples here")
            assert time.monotonic() < deadline, sql
            time.sleep(0.05)
        end(recorder)
        said = recorder.communicate(timeout=program.TIMEOUT)[1]
    finally:
        recorder.kill()
        recorder.wait()
    assert recorder.returncode == status, (recorder.returncode, said)


def has_periods(folder, store):
    try:
        return os.path.exists(folder / store) and ask(folder, "SELECT 1 FROM period LIMIT 1", store=store)
    except sqlite3.OperationalError:  # the store is being created
        return False


def check_attached():
    """-p, -a and -C: running processes are known by their maps and names; tasks are distinguished"""
    with Folder() as folder:
        one = subprocess.Popen([known(), "60000"], stdin=subprocess.DEVNULL)
        try:
            record_until(folder, "s.data", 500, "SELECT total(samples) FROM stack_count",
                         options=["--frequency", "1997", "-p", str(one.pid)])
            found, _ = shares(folder)
            near(found["alpha"], 0.7, 8, "attached")
            counts_fit(folder)
            record_until(folder, "all.data", 51, "SELECT total(c.samples) FROM task_count AS c JOIN task AS t USING (run_id, task) "
                         "WHERE t.pid = ?", one.pid, options=["-a", "--frequency", "997"])
            tasks = ask(folder, "SELECT t.name, sum(c.samples) FROM task_count AS c JOIN task AS t USING (run_id, task) "
                                "WHERE t.pid = ? GROUP BY 1", one.pid, store="all.data")
            assert tasks and tasks[0][0] == "known" and tasks[0][1] > 50, tasks
            counts_fit(folder, "all.data")
        finally:
            one.send_signal(signal.SIGKILL)
            one.wait()


def check_processes():
    """short-lived processes: each is a task with its name, and the times add up"""
    with Folder() as folder:
        script = "for i in 1 2 3 4; do %s 80; done; %s 320" % (known(), known("known-fp"))
        record(folder, "--frequency", "997", "sh", "-c", script)
        rows = ask(folder, "SELECT t.pid, t.name, sum(c.samples) FROM task_count AS c JOIN task AS t "
                           "USING (run_id, task) WHERE t.name LIKE 'known%' GROUP BY 1, 2 ORDER BY min(t.start_ns)")
        names = [row[1] for row in rows]
        assert names == ["known"] * 4 + ["known-fp"], rows
        total = sum(row[2] for row in rows)
        near(rows[-1][2] / total, 0.5, 10, "the longest")
        ended = ask(folder, "SELECT count(*) FROM task WHERE name = 'known' AND end_ns > start_ns")
        assert ended == [(4,)], ended


def check_source():
    """the name of the file that a process works on is stored, and nothing else of its command line"""
    with Folder() as folder:
        os.mkdir(folder / "work")
        folder.write("work/spin.py", "import signal\nsignal.signal(signal.SIGINT, lambda *_: exit(0))\nwhile True: pass\n")
        record_until(folder, "s.data", 50, "SELECT total(samples) FROM task_count",
                     options=("/usr/bin/python3", folder / "work/spin.py", "--password=canary"))
        rows = json.loads(program.call("code", "--by", "process", "--format", "json", "-i", "s.data", cwd=folder.path).stdout)["code"]
        assert [row["file"] for row in rows if row["name"] == "python3"] == ["work/spin.py"], rows
        assert ask(folder, "SELECT count(*) FROM task WHERE name || file LIKE '%canary%'") == [(0,)]


def check_unprivileged():
    """an ordinary user without locked memory gets samples of the program, and none of the kernel if this is not permitted"""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise tap.Skip("only root can become another user, with setpriv")
    with Folder() as folder:
        os.chmod(folder.path, 0o777)
        copies = [shutil.copy(path, folder / os.path.basename(path)) for path in (RPISTAT, known())]
        answer = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", copies[0],
                                 "record", "--pmu", "software", "-o", "s.data", "--frequency", "1997", copies[1], str(MS)],
                                cwd=folder.path, env=environment(), capture_output=True, text=True, check=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0)))
        assert "may be locked" not in answer.stderr, answer.stderr
        if answer.returncode != 0:
            raise tap.Skip(answer.stderr.strip())
        near(shares(folder)[0]["alpha"], 0.7, 7, "alpha")
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
            if int(file.read()) <= 0:
                return
        answer = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", copies[0],
                                 "record", "--pmu", "software", "-o", "t.data", "--sample-on", "cpus", copies[1], "10"],
                                cwd=folder.path, env=environment(), capture_output=True, text=True, check=False)
        assert answer.returncode != 0 and answer.stderr.startswith("rpistat: cannot sample cpu-clock: not permitted"), answer.stderr


def true_phases(folder):
    """The rows of the true phases in the file true.csv, without the set-up."""
    with open(folder / "true.csv", encoding="ascii", newline="") as file:
        return [row for row in csv.DictReader(file) if row["phase"] != "setup"]


def record_on_time(folder, *arguments):
    """Record again until no period is longer than a third of the shortest phase: a recorder that gets no CPU sees no phases."""
    deadline = time.monotonic() + program.TIMEOUT
    while True:
        record(folder, *arguments, "--boundaries", "true.csv")
        lengths = [int(row["end_monotonic_ns"]) - int(row["start_monotonic_ns"]) for row in true_phases(folder)]
        (longest,), = ask(folder, "SELECT max(length_ns) FROM period")
        if longest < min(lengths) / 3:
            return
        assert time.monotonic() < deadline, (longest, lengths)
        os.unlink(folder / "s.data")


def phases(folder, store):
    """The printed phases, each with label, start, end and top function."""
    found = json.loads(expect(program.call("phases", "-i", store, "--format", "json", cwd=folder.path), 0).stdout)
    return found["phases"], {label["label"]: label for label in found["labels"]}


def phases_at_truth(folder):
    """The result for each true phase: the rows of the table, and the classes that have most of their CPU time. A loaded machine adds
    phases of its own, which divide the true ones. Each part has the same running function, but a part without CPU time
    has none.
    """
    found, labels = phases(folder, "s.data")
    rows = true_phases(folder)
    (zero,), = ask(folder, "SELECT start_monotonic_ns FROM run")
    classes = []
    for row in rows:
        start, end = [(int(row[name]) - zero) / 1e9 for name in ("start_monotonic_ns", "end_monotonic_ns")]
        most = max(found, key=lambda phase, start=start, end=end: (phase["figures"]["cpu_use"] or 0) * max(
            0, min(phase["end_s"], end) - max(phase["start_s"], start)))
        assert labels[most["label"]]["top"], (row, most)
        classes.append(labels[most["label"]])
    return rows, classes


def check_phases():
    """load, solve, save, twice: the phase found in each has its function, with its share of the time"""
    with Folder() as folder:
        record_on_time(folder, "--frequency", "997", "--period", "20ms", THREE, "--length", "500ms")
        rows, found = phases_at_truth(folder)
        assert [label["top"][0]["name"] for label in found] == [row["phase"] for row in rows] == ["load", "solve", "save"] * 2, found
        (zero,), = ask(folder, "SELECT start_monotonic_ns FROM run")
        for row in rows:
            part = ["%.3fs" % ((int(row[end]) - zero) / 1e9) for end in ("start_monotonic_ns", "end_monotonic_ns")]
            code = json.loads(expect(program.call("code", "-i", "s.data", "--format", "json", "--from", part[0], "--to", part[1],
                                                  cwd=folder.path), 0).stdout)
            top = code["code"][0]
            assert top["name"] == row["phase"], (row, code["code"])
            # the kernel's part of the time grows with load; it is only in the total if callers are
            # known
            own = float(row["own_s"]) / float(row["cpu_s"])
            # five standard deviations of 500 samples are 6 points if the share is 0.9
            assert top["self_share"] - 0.06 < own < top["total_share"] + 0.06, (row, top)


def check_told_apart():
    """phases with equal counters are distinguished by their functions"""
    with Folder() as folder:
        # its phases have fixed lengths by the clock: even on a shared CPU there must be enough
        # samples
        record_on_time(folder, "--frequency", "1997", "--period", "50ms", PHASED, "--order", "compute:1s,chase-small:1s,compute:1s")
        _, found = phases_at_truth(folder)
        first, second, third = [label["top"][0]["name"] for label in found]
        assert first == third != second, found


def check_stripped():
    """a program without names has the same phases, each with a function named by its address"""
    if not shutil.which("strip"):
        raise tap.Skip("there is no strip")
    with Folder() as folder:
        subprocess.run(["strip", "-o", "stripped", THREE], cwd=folder.path, check=True)
        record_on_time(folder, "--frequency", "997", "--period", "20ms", "./stripped", "--length", "400ms")
        tops = [label["top"][0] for label in phases_at_truth(folder)[1]]
        names = [top["name"] for top in tops]
        assert names[:3] == names[3:] and len(set(names)) == 3, names
        code = json.loads(expect(program.call("code", "-i", "s.data", "--format", "json", cwd=folder.path), 0).stdout)
        assert {one["name"] for one in code["code"][:3]} == set(names), (code["code"][:4], names)
        assert all(one["name"].startswith("stripped+0x") and one["self_share"] > 0.2 for one in code["code"][:3]), code["code"][:3]


PROCESSES = 500  # a fast machine takes 1.2 ms of CPU time for each pair of them
MANY = "i=0; while [ $i -lt %d ]; do /bin/true; /bin/sleep 0; i=$((i+1)); done" % PROCESSES
IN_TASKS = ["record", "--pmu", "software", "-o", "s.data", "--sample-on", "tasks", "sh", "-c", MANY]


def check_sums(folder):
    """Samples, the kernel's part if it may not be sampled, and the row of unsampled time are all of the time exactly, even if a loaded machine leaves many samples to short processes."""
    (event, wide), = ask(folder, "SELECT event, is_wide FROM sampling")
    assert not wide
    (user, system), = ask(folder, "SELECT user_ns / 1e9, system_ns / 1e9 FROM run")
    (clock,), = ask(folder, "SELECT sum(enabled_ns) / 1e9 FROM event_set")
    (exact,), = ask(folder, "SELECT sum(cpu_ns) / 1e9 FROM program")
    near(exact, clock, 5 * clock, "CPU time of all programs")
    report = json.loads(expect(program.call("report", "-i", "s.data", "--format", "json", cwd=folder.path), 0).stdout)
    code = {form: expect(program.call("code", "-i", "s.data", "--format", form, cwd=folder.path), 0).stdout
            for form in ("text", "json", "csv")}
    found = json.loads(code["json"])
    programs = {row["name"]: row for row in found["not_sampled"]}
    assert report["not_sampled"] == found["not_sampled"] and {"true", "sleep"} <= set(programs), (report, programs)
    assert 0.95 * PROCESSES <= programs["true"]["processes"] <= PROCESSES, programs
    # sampled, in the kernel, and unsampled time are all of the time
    kernel = clock * system / (user + system) if event.endswith(":u") else 0
    near(found["kernel_not_sampled_s"] or 0, kernel, 1e-4, "time in the kernel")
    missing = sum(row["cpu_s"] for row in found["not_sampled"])
    assert ask(folder, "SELECT sum(samples) FROM program") == [(found["samples"],)], found
    near(found["samples"] / 99 + missing, exact * (1 - kernel / clock), 1e-4, "all of the time outside of the kernel")
    rows = {row["name"]: row for row in csv.DictReader(code["csv"].splitlines())}
    near(float(rows["[not sampled]"]["cpu_s"]), missing, 1e-4, "the row's time")
    assert rows["[not sampled]"]["self"] == "", rows
    words = " ".join(code["text"].split())
    sentence = [remark for remark in report["remarks"] if "processes that end within 10.1 ms are not sampled" in remark]
    assert sentence and sentence[0].startswith("%d of %.0f expected samples in " % (
        report["samples"], report["expected_samples"])) and sentence[0] in words, (report["remarks"], words)
    assert re.search(r"\[not sampled: \d+ short processes; (true|sleep) \d+ %, (true|sleep) \d+ %", words), words
    assert "[in the kernel, not sampled here: %.0f %% of the CPU time]" % (100 * kernel / clock) in words or kernel == 0, words
    phases = expect(program.call("phases", "-i", "s.data", cwd=folder.path), 0).stdout
    assert sentence[0] in " ".join(phases.split()), phases


def check_tiny():
    """in tasks, processes that end within an interval have no samples: a last row has their exact times"""
    with Folder() as folder:
        record(folder, *IN_TASKS[5:])
        check_sums(folder)


def check_tiny_of_others():
    """the same without rights: their time in the kernel is not expected, and has a row too"""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise tap.Skip("only root can become another user, with setpriv")
    with Folder() as folder:
        os.chmod(folder.path, 0o777)
        copy = shutil.copy(RPISTAT, folder / "rpistat")
        answer = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", copy, *IN_TASKS],
                                cwd=folder.path, env=environment(), capture_output=True, text=True, check=False)
        if answer.returncode != 0 or "no samples" in answer.stderr:
            raise tap.Skip(answer.stderr.strip())
        check_sums(folder)


def check_on_cpus():
    """on whole CPUs, processes that end within an interval have their share"""
    with Folder() as folder:
        script = "i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done"
        answer = program.call("record", "--pmu", "software", "--frequency", "499", "--sample-on", "cpus", "-o", "s.data",
                              "sh", "-c", script, cwd=folder.path)
        if "cannot sample" in answer.stderr:
            raise tap.Skip(answer.stderr)
        expect(answer, 0)
        report = json.loads(expect(program.call("report", "-i", "s.data", "--format", "json", cwd=folder.path), 0).stdout)
        # each CPU's timer hits a process or not: five standard deviations
        least = report["expected_samples"] - 5 * report["expected_samples"] ** 0.5
        assert report["samples"] > least > 0.5 * report["expected_samples"], report
        names = dict(ask(folder, "SELECT t.name, sum(c.samples) FROM task_count AS c JOIN task AS t USING (run_id, task) GROUP BY 1"))
        assert names.get("true", 0) > 0.15 * report["samples"], names
        counts_fit(folder)


def memory(pid):
    """The memory of a process, from a core dump."""
    with open("/proc/%d/smaps" % pid, encoding="utf-8") as smaps, open("/proc/%d/mem" % pid, "rb", buffering=0) as mem:
        place = None
        for line in smaps:
            words = line.split()
            if not words[0].endswith(":"):
                place = [int(end, 16) for end in words[0].split("-")] if words[1][0] == "r" else None
            if words[0] == "VmFlags:" and place and "dd" not in words:  # dd: not part of core dumps
                try:
                    mem.seek(place[0])
                    yield mem.read(place[1] - place[0])
                except (OSError, ValueError, OverflowError):
                    pass  # of the kernel


def check_others():
    """no byte of the name or path of another program is in the store or in the recorder's memory"""
    with Folder() as folder:
        marker = "zebra%06d" % random.randrange(1000000)
        own = "sloth%06d" % random.randrange(1000000)
        for name in (marker, own):
            shutil.copy(known(), folder / name)
        beside = subprocess.Popen(["sh", "-c", "while :; do ./%s 1; echo >>rounds; done" % marker], cwd=folder.path)
        recorder = subprocess.Popen([RPISTAT, "record", "-q", "--pmu", "software", "-o", "s.data", "--frequency", "997", "sh", "-c",
                                     "while [ ! -e stop ]; do ./%s 1; done" % own], cwd=folder.path, env=environment())
        try:
            deadline, found = time.monotonic() + program.TIMEOUT, [False]
            # Until it has sampled its own program, next to many others.
            while recorder.poll() is None and not found[0]:
                assert time.monotonic() < deadline
                time.sleep(0.1)
                if os.path.exists(folder / "rounds") and os.path.getsize(folder / "rounds") > 100:
                    found = [any(name.encode() in part for part in memory(recorder.pid)) for name in (own, marker)]
        finally:
            open(folder / "stop", "wb").close()
            recorder.wait()
            beside.kill()
            beside.wait()
        assert recorder.returncode == 0, recorder.returncode
        if not ask(folder, "SELECT 1 FROM sampling"):
            raise tap.Skip("no samples can be taken")
        assert found == [True, False], found
        for name, is_there in ((own, True), (marker, False)):
            assert any(name.encode() in folder.read(file) for file in os.listdir(folder.path) if ".data" in file) == is_there, name


def waits(folder, *arguments, **options):
    """{function: (seconds off the CPU, the kernel's function)} of `record --wall`, and {function: seconds that its calls took,
    of which asleep, and the seconds that all threads waited for a CPU}"""
    answer = program.call("record", "--pmu", "software", "-q", "--wall", "-o", "w.data", *arguments, cwd=folder.path, **options)
    told = {name: [int(ns) / 1e9 for ns in rest] for name, *rest in (line.split() for line in answer.stdout.splitlines())}
    if "--wall: cannot sample context switches" in answer.stderr:
        raise tap.Skip(answer.stderr)
    expect(answer, 0)
    expect(program.call("check", "-i", "w.data", cwd=folder.path), 0)
    text = expect(program.call("code", "--wall", "--format", "csv", "-i", "w.data", cwd=folder.path), 0).stdout
    return {row["name"]: (int(row["waited"]) / 1e6, row["waited_in"]) for row in csv.DictReader(text.splitlines())}, told


def be_first():
    """Where this is permitted, let the recording and its workload, which mostly sleep, get a CPU before all others."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass


def check_waits(folder, times, ms):
    """Record waits, and compare each function with its own measurement: its waits are its sleep within 10 %, and at most all threads'
    queues more or less. Stacks without callers are recorded again, because a starved recorder has no time for callers. Return the
    share of the switches that was sampled, and the elapsed time."""
    deadline = time.monotonic() + program.TIMEOUT
    while True:
        began = time.monotonic()
        found, told = waits(folder, known("waits"), str(times), str(ms), preexec_fn=be_first)
        elapsed = time.monotonic() - began
        (of, unknown, lost), = ask(folder, "SELECT blocked_of, blocked_off_us / 1e6, switches_lost FROM sampling ORDER BY run_id DESC LIMIT 1",
                                   store="w.data")
        total = sum(seconds for seconds, _ in found.values())
        unnamed = total + unknown - sum(found[name][0] for name in told if name in found)
        if lost == 0 and unnamed < 0.05 * total:
            break
        assert time.monotonic() < deadline, ("waits have no callers, or were lost", found, told, unknown, lost)
    # any thread's queue, also that before the exec, may be subtracted from one of its waits
    for name, (took, asleep, queued) in told.items():
        assert 0.9 * asleep - queued - unnamed <= found[name][0] <= min(took, 1.1 * asleep + queued), (name, found, told, unnamed)
    assert total >= 0.9 * sum(asleep for _, asleep, _ in told.values()) - queued, (found, told)
    reasons = {name: reason for name, (_, reason) in found.items() if reason}
    assert not reasons or ("nanosleep" in reasons["wait_for_time"] and "futex" in reasons["wait_for_lock"] and
                           "pipe" in reasons["wait_for_pipe"]), reasons
    return of, elapsed


def check_wall():
    """--wall: threads wait in the functions that wait; if there are many switches, a part of them is sampled"""
    with Folder() as folder:
        of, _ = check_waits(folder, 5, 50)
        assert of == 1, of
        of, elapsed = check_waits(folder, 700, 1)  # more than 6 switches each time, about 1,000 per second
        (marks,), = ask(folder, "SELECT count(*) FROM mark WHERE run_id = (SELECT max(run_id) FROM run) AND text LIKE '%for 0.1 s of every%'",
                        store="w.data")
        assert (of > 1 and marks > 0) or 700 * 6 / elapsed < 300, (of, marks, elapsed)


WAITING = """\
import os, threading, time
def asleep(began):
    on, queue = open("/proc/thread-self/schedstat").read().split()[:2]
    print(time.monotonic() - began - (int(on) + int(queue)) / 1e9, int(queue) / 1e9, file=out)
    out.flush()
out = open("truth.txt", "a")
began = time.monotonic()
there, here = os.pipe(), os.pipe()
if os.fork() == 0:
    began = time.monotonic()
    os.close(there[1])
    while os.read(there[0], 1):
        os.write(here[1], b"x")
    asleep(began)
    os._exit(0)
for pause in [0.01] * 60 + [1.5] + [0] * 20000 + [0.7]:
    os.write(there[1], b"x")
    os.read(here[0], 1)
    if pause:
        time.sleep(pause)
os.close(there[1])
os.wait()
asleep(began)
"""


def check_wait_lengths():
    """--wall: known and unknown time off the CPU add up to the time that threads slept, at any rate of switches"""
    with Folder() as folder:
        folder.write("waiting.py", WAITING)
        waits(folder, "/usr/bin/python3", "waiting.py")
        truth, queued = map(sum, zip(*(map(float, line.split()) for line in folder.read("truth.txt").splitlines())))
        sampling = json.loads(program.call("code", "--wall", "--format", "json", "-i", "w.data", cwd=folder.path).stdout)["sampling"]
        known, unknown = sampling["waited_s"], sampling["waits_unknown_s"]
        # schedstat is read once per period: the first and the last readings miss a part of it, for two threads
        (longest,), = ask(folder, "SELECT max(length_ns) / 1e9 FROM period", store="w.data")
        assert abs(known + unknown - truth) < 0.02 * truth + 0.05 * queued + 4 * longest, (known, unknown, truth, queued, longest)


PARKED = """\
import os, re, select, threading, time
there, _ = os.pipe()
parked = [threading.Thread(target=function, args=arguments, daemon=True) for function, arguments in (
    (threading.Event().wait, ()), (select.select, ([there], [], [])), (os.read, (there, 1)), (time.sleep, (1000,)))]
for one in parked:
    one.start()
def look():  # a thread that waits for Python's lock wakes up every 5 ms
    return [re.findall("^(?:State|voluntary_ctxt_switches):\\s+(\\w+)", open("/proc/self/task/%d/status" % one.native_id).read(), re.M)
            for one in parked]
before = None
while before != (now := look()) or any(state != "S" for state, _ in now):
    before = now
    time.sleep(0.1)
print("parked", flush=True)
time.sleep(1000)
"""


def check_parked():
    """--wall -p: threads that slept before the recording sleep at known places, for all the time"""
    with Folder() as folder:
        parked = subprocess.Popen(["/usr/bin/python3", "-c", PARKED], stdout=subprocess.PIPE)
        try:
            parked.stdout.readline()
            waits(folder, "--duration", "3s", "-p", str(parked.pid))
        finally:
            parked.kill()
            parked.wait()
        (elapsed, longest), = ask(folder, "SELECT elapsed_ns / 1e9, (SELECT max(length_ns) FROM period) / 1e9 FROM run", store="w.data")
        (waited,), = ask(folder, "SELECT blocked_us / 1e6 FROM sampling", store="w.data")
        (unknown,), = ask(folder, "SELECT total(b.us) / 1e6 FROM blocked_time AS b JOIN stack AS s USING (run_id, stack) "
                          "JOIN frame AS f USING (run_id, frame) JOIN module AS m USING (run_id, module) WHERE m.kind = 'memory'",
                          store="w.data")
        assert 5 * (0.95 * elapsed - longest) < waited < 1.01 * 5 * elapsed, (waited, elapsed, longest)
        assert unknown < 0.05 * waited, (unknown, waited)


@program.undisturbed
def check_own_time():
    """the recorder's CPU time is complete: it includes the time after the recording, and the processes that find names"""
    with Folder() as folder:
        command = [RPISTAT, "record", "-q", "--pmu", "software", "-o", "s.data", known(), "100"]  # perf's clock includes interrupts, so it is short
        child = subprocess.Popen(command, cwd=folder.path, env=environment(), stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0, child.returncode
        if not ask(folder, "SELECT samples FROM sampling"):
            raise tap.Skip("no samples can be taken")
        (workload,), = ask(folder, "SELECT sum(enabled_ns) / 1e9 FROM event_set")
        (during, after), = ask(folder, "SELECT recorder_cpu_ns / 1e9, recorder_after_ns / 1e9 FROM run")
        own = usage.ru_utime + usage.ru_stime - workload
        assert 0.6 * own < during + after < 1.2 * own, (own, during, after)
        run = json.loads(program.call("runs", "-i", "s.data", "--format", "json", cwd=folder.path).stdout)["runs"][0]
        near(run["recorder_after_s"], after, 0.001, "recorder_after_s")
        said = json.loads(program.call("report", "-i", "s.data", "--format", "json", cwd=folder.path).stdout)
        near(said["recorder_cpu_share"], during / workload, 0.1, "recorder_cpu_share")
        # the share of a run of at least a second is printed, as on a slow machine
        line = r"Recorder's CPU time:      %.3f s while recording( \([\d.]+ %% of the time(, [\d.]+ %% of the workload.s CPU time)?\))?, \S+ s afterwards\n" % during
        for text in (folder.read("s.txt").decode(), program.call("report", "-i", "s.data", cwd=folder.path).stdout):
            assert re.search(line, text), text


tap.main([check_phases, check_killed, check_told_apart, check_stripped, check_known, check_callers, check_leaves, check_hostile, check_files, check_resolve, check_none, check_threshold, check_attached, check_processes, check_source,
          check_unprivileged, check_tiny, check_tiny_of_others, check_on_cpus, check_others, check_wall, check_wait_lengths, check_parked, check_own_time])
