"""Recording: the workload has the same environment as without rpistat, and the store has the run."""
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys

import program
from program import RPISTAT, Folder, ask_store, environment, expect, refused, tap

RECORD = []


def record():
    """The options of a real recording. The test is skipped if nothing can be counted."""
    if not RECORD:
        RECORD.extend(program.counting())
    return list(RECORD)


def same(command, **options):
    """Run the command directly and under rpistat, and compare the answers."""
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("env", environment())
    with Folder() as folder:
        def once(prefix):
            return subprocess.run(prefix + command, stdout=subprocess.PIPE, cwd=folder.path,
                                  check=False, timeout=program.TIMEOUT, **options)
        plain, recorded = once([]), once([RPISTAT, *record()])
    assert recorded.stdout == plain.stdout, "%r instead of %r" % (recorded.stdout, plain.stdout)
    assert recorded.stderr == plain.stderr, "%r instead of %r" % (recorded.stderr, plain.stderr)
    assert recorded.returncode == plain.returncode, recorded
    return plain


def python(text):
    return [sys.executable, "-c", text]


def query(path, statement):
    return ask_store(path, statement)


# --- exit status ------------------------------------------------------------------------------


def test_status():
    """the exit status is the workload's"""
    for status in [0, 1, 3, 255]:
        assert same(["sh", "-c", "exit %d" % status]).returncode == status


def test_signal_status():
    """128 and the signal's number if a signal ended the workload"""
    for number in [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGUSR1]:
        with Folder() as folder:
            answer = expect(folder.call(*record(), "sh", "-c", "kill -%d $$" % number),
                            128 + number)
            assert not answer.stderr, answer.stderr
            found = query(folder / "rpistat.data", "SELECT exit_signal, state FROM run")
            assert found == [(number, "complete")], found


def test_cannot_find():
    """127 and a sentence if the command is not found; no store is left"""
    with Folder() as folder:
        # with a folder in PATH that may not be searched it would be 126, as with execvp
        env = environment(PATH="/usr/bin:/bin")
        for command in ["no-such-program-anywhere", "./missing", "/none/such", ""]:
            refused(folder.call(command, env=env), 127, command)
            refused(folder.call("record", "--", command, env=env), 127, command)
        assert os.listdir(folder.path) == ["script.sim"], os.listdir(folder.path)


def test_cannot_execute():
    """126 and a sentence if the command cannot be executed; no store is left"""
    with Folder() as folder:
        folder.write("data", "no program\n", 0o644)
        os.mkdir(folder / "dir")
        for command in ["./data", "./dir"]:
            refused(folder.call(command), 126, command)
        assert sorted(os.listdir(folder.path)) == ["data", "dir", "script.sim"]


def test_plain_script():
    """an executable text without #! is run by the shell, as execvp does it"""
    with Folder() as folder:
        folder.write("plain", "echo plain $1\n", 0o755)
        assert expect(folder.call(*record(), "./plain", "text"), 0).stdout == "plain text\n"


def test_named_like_a_command():
    """a workload with the name of a command is recorded after -- or after the word record"""
    with Folder() as folder:
        folder.write("plot", "#!/bin/sh\necho workload $#\n", 0o755)
        env = environment(PATH=folder.path + ":" + os.environ["PATH"])
        for arguments in [["--", "plot", "-x"], ["record", "plot", "-x"],
                          ["-q", "plot", "-x"]]:
            arguments = record()[1:] + arguments if arguments[0] != "record" else \
                record() + arguments[1:]
            answer = expect(folder.call(*arguments, env=env), 0)
            assert answer.stdout == "workload 1\n", answer


def test_implicit():
    """rpistat COMMAND records it, and leaves rpistat.data and rpistat.txt"""
    record()
    with Folder() as folder:
        answer = expect(folder.call("sh", "-c", "echo out; echo err >&2; exit 5"), 5)
        assert answer.stdout == "out\n" and answer.stderr == "err\n", answer
        left = sorted(name for name in os.listdir(folder.path) if name != "script.sim")
        assert left == ["rpistat.data", "rpistat.txt"], left
        report = folder.call("report", "--format", "classic", env=environment(LC_ALL="C"))
        assert report.stdout == folder.read("rpistat.txt").decode(), report.stdout


# --- what the workload has ----------------------------------------------------------------------


def test_streams():
    """standard input, output and error are those of the workload, byte for byte"""
    data = bytes(range(256)) * 4096
    with Folder() as folder:
        answer = subprocess.run([RPISTAT, *record(), "sh", "-c", "cat; echo done >&2"],
                                input=data, capture_output=True, cwd=folder.path, check=False,
                                timeout=program.TIMEOUT, env=environment())
        assert answer.returncode == 0 and answer.stdout == data, len(answer.stdout)
        assert answer.stderr == b"done\n", answer.stderr


def test_closed_streams():
    """closed streams are closed for the workload too"""
    text = "import os\nout = open(9, 'w')\nfor f in range(3):\n try: os.fstat(f); " \
           "print('open', f, file=out)\n except OSError: pass"
    for closed in [0, 1, 2]:
        with Folder() as folder:
            answers = []
            for prefix in [[], [RPISTAT, *record()]]:
                reader, writer = os.pipe()
                command = ["sh", "-c", "exec \"$@\" 9>&%d %d>&-" % (writer, closed), "sh", *prefix,
                           *python(text)]
                subprocess.run(command, cwd=folder.path, pass_fds=[writer], check=False,
                               timeout=program.TIMEOUT, env=environment())
                os.close(writer)
                with os.fdopen(reader) as file:
                    answers.append(file.read())
            assert answers[0] == answers[1], (closed, answers)


def test_descriptors():
    """no descriptor of rpistat leaks into the workload, and inherited descriptors stay open"""
    listing = ["sh", "-c", "ls -l /proc/self/fd | sed 's/.* \\([0-9]* -> .*\\)/\\1/; "
               "s/-> .*proc.*/-> proc/; s/:\\[.*//' | grep -v total"]
    answer = same(listing)
    assert len(answer.stdout.splitlines()) <= 4, answer.stdout
    reader, writer = os.pipe()
    answer = same(listing, pass_fds=[writer])
    assert ("%d -> pipe" % writer).encode() in answer.stdout, answer.stdout
    os.close(reader)
    os.close(writer)


def test_environment():
    """the environment is the same, in the same order"""
    answer = same(["env", "-0"], env=environment(A="1", EMPTY="", ODD="x\ny=z"))
    assert b"ODD=x\ny=z\0" in answer.stdout


def test_place():
    """working folder, umask, nice value, limits and personality are unchanged"""
    same(["sh", "-c", "pwd; umask; nice; ulimit -a; cat /proc/self/personality"])

    def limits():
        os.umask(0o027)
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 1000))
    answer = same(["sh", "-c", "umask; ulimit -Sn; ulimit -Hn"], preexec_fn=limits)
    assert answer.stdout.split() == [b"0027", b"100", b"1000"], answer.stdout


def test_signals():
    """signal mask and dispositions are unchanged, also of blocked and ignored signals"""
    status = ["grep", "-E", "^(Sig(Blk|Ign|Cgt)|Shd|NoNewPrivs|Seccomp)", "/proc/self/status"]
    same(status)

    def unusual():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD])
    answer = same(status, preexec_fn=unusual, restore_signals=False)
    assert b"SigBlk:\t0000000000014200" in answer.stdout, answer.stdout


def test_process_group():
    """process group, session and parent are the same as from a shell"""
    text = "import os; print(os.getpgrp(), os.getsid(0), os.getppid())"
    with Folder() as folder:
        process = subprocess.Popen([RPISTAT, *record(), *python(text)], stdout=subprocess.PIPE,
                                   cwd=folder.path, start_new_session=True, env=environment())
        output = process.communicate(timeout=program.TIMEOUT)[0]
        assert output.split() == [str(process.pid).encode()] * 3, (output, process.pid)


# --- what is recorded -----------------------------------------------------------------------------


def test_store():
    """runs are added to the store; label, tags, command and folder are stored"""
    with Folder() as folder:
        expect(folder.call(*record(), "--label", "one", "--tag", "board=a b", "--tag", "k=v=w",
                           "sh", "-c", "exit 3", "x y"), 3)
        expect(folder.call(*record(), "--label", "two", "true"), 0)
        rows = query(folder / "rpistat.data",
                     "SELECT label, command, exit_status, state, tags, folder FROM run "
                     "ORDER BY run_id")
        assert [row[0] for row in rows] == ["one", "two"], rows
        assert json.loads(rows[0][1]) == ["sh", "-c", "exit 3", "x y"], rows
        assert rows[0][2:4] == (3, "complete") and rows[1][2:4] == (0, "complete"), rows
        assert json.loads(rows[0][4]) == {"board": "a b", "k": "v=w"}, rows
        assert os.path.realpath(rows[0][5]) == os.path.realpath(folder.path), rows


def test_other_store():
    """-o names the store and its report"""
    with Folder() as folder:
        os.mkdir(folder / "sub")
        expect(folder.call(*record(), "-o", "sub/my.data", "true"), 0)
        left = sorted(os.listdir(folder / "sub"))
        assert left == ["my.data", "my.txt"], left
        assert sorted(os.listdir(folder.path)) == ["script.sim", "sub"]
        assert "complete" in expect(folder.call("runs", "-i", "sub/my.data"), 0).stdout


def test_durations():
    """the periods of a run are contiguous, and add up to its elapsed time"""
    with Folder() as folder:
        for turns in "100000", "1000000", "10000000":  # a loaded machine may give the recorder little time
            expect(folder.call(*record(), "--period", "5ms", "sh", "-c",
                               "i=0; while [ $i -lt %s ]; do i=$((i + 1)); done" % turns), 0)
            rows = query(folder / "rpistat.data", "SELECT period, start_ns, length_ns FROM period"
                         " WHERE run_id = (SELECT max(run_id) FROM run) ORDER BY period")
            if len(rows) > 5:
                break
        assert len(rows) > 5, rows
        assert [row[0] for row in rows] == list(range(len(rows)))
        for before, after in zip(rows, rows[1:]):
            assert before[1] + before[2] == after[1], (before, after)
        elapsed = query(folder / "rpistat.data", "SELECT elapsed_ns FROM run ORDER BY run_id")[-1][0]
        assert rows[-1][1] + rows[-1][2] == elapsed, (rows[-1], elapsed)


def test_duration():
    """--duration ends the recording after exactly this time, and the run has the reason"""
    with Folder() as folder:
        folder.record("--duration", "5s")
        found = query(folder / "rpistat.data", "SELECT elapsed_ns, state, end_reason, "
                      "(SELECT count(*) FROM period) FROM run")[0]
        assert found[0] == 5000000000 and found[1] == "complete" and found[3] == 50, found
        assert "duration" in found[2], found


def test_duration_status():
    """--duration leaves the workload running, and the exit status is still that of the workload"""
    with Folder() as folder:
        answer = expect(folder.call(*record(), "--duration", "1ms", "--period", "1ms", "sh", "-c",
                                    "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; "
                                    "echo still here; exit 9"), 9)
        assert answer.stdout == "still here\n" and not answer.stderr, answer


def test_page_faults():
    """4,096 page faults of a program that touches 4,096 new pages, within 1 %"""
    touch = "import mmap, resource, sys\n" \
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n" \
            "m = mmap.mmap(-1, 4096 * 4096)\n" \
            "m.madvise(mmap.MADV_NOHUGEPAGE) if hasattr(mmap, 'MADV_NOHUGEPAGE') else None\n" \
            "for i in range(0, 4096 * 4096, 4096): m[i] = 1\n" \
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)"
    with Folder() as folder:
        answer = expect(folder.call(*record(), *python(touch)), 0)
        counted = query(folder / "rpistat.data",
                        "SELECT sum(count) FROM sample WHERE event LIKE '%minor%fault%'")[0][0]
        assert counted is not None, "no minor faults were counted"
        own = int(answer.stdout)
        assert own > 4096 and abs(counted - own) <= 0.01 * own + 60, (counted, own)


def test_children():
    """a workload that forks 100 short children is counted completely"""
    text = "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done"
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    subprocess.run(["sh", "-c", text], check=True, timeout=program.TIMEOUT)
    plain = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
    with Folder() as folder:
        expect(folder.call(*record(), "sh", "-c", text), 0)
        counted = query(folder / "rpistat.data",
                        "SELECT sum(count) FROM sample WHERE event LIKE '%minor%fault%'")[0][0]
        user_only = query(folder / "rpistat.data",
                          "SELECT modifiers FROM event WHERE name LIKE '%minor%fault%'") == [("u",)]
    # without the kernel, faults by its accesses to the workload's memory are not counted
    tolerance = 0.15 if user_only else 0.05
    assert counted is not None and abs(counted - plain) < tolerance * plain, (counted, plain)


# --- stores that cannot be written ----------------------------------------------------------------


def bad_store(make, words):
    """record refuses what make(folder) returns, leaves it unchanged, and starts no workload."""
    with Folder() as folder:
        path = make(folder)
        before = folder.read(path) if os.path.isfile(folder / path) else None
        refused(folder.call(*record(), "-o", path, "touch", "started"), 1, *words)
        assert not os.path.exists(folder / "started"), "the workload was started"
        if before is not None:
            assert folder.read(path) == before, "the file was changed"


def make_folder(folder):
    os.mkdir(folder / "dir.data")
    return "dir.data"


def foreign(folder):
    store = sqlite3.connect(folder / "other.db")
    store.execute("CREATE TABLE run (a)")
    store.commit()
    store.close()
    return "other.db"


def newer(folder):
    folder.record("-o", "new.data")
    store = sqlite3.connect(folder / "new.data", isolation_level=None)
    store.execute("PRAGMA journal_mode=DELETE")
    store.execute("PRAGMA user_version = 100000")
    store.close()
    return "new.data"


BAD_STORES = [
    ("a folder", make_folder, ["dir.data is a directory"]),
    ("a text file", lambda folder: (folder.write("notes.txt", "hello\n" * 100), "notes.txt")[1],
     ["notes.txt"]),
    ("another program that uses SQLite", foreign, ["other.db"]),
    ("a store from a newer version", newer, ["new.data", "newer"]),
    ("a folder that does not exist", lambda folder: "none/x.data", ["none"]),
]


def test_read_only():
    """recording into a read-only store is refused, and the store is unchanged"""
    with Folder() as folder:
        folder.record()
        os.chmod(folder / "rpistat.data", 0o444)
        os.remove(folder / "rpistat.txt")
        before = folder.read("rpistat.data")
        answer = folder.call_as_user("record", "--pmu", "sim:script.sim")
        refused(answer, 1, "rpistat.data")
        assert folder.read("rpistat.data") == before


def limit_size():
    resource.setrlimit(resource.RLIMIT_FSIZE, (300000, 300000))


def test_size_limit():
    """with a limit on file sizes, the workload has the limit and gets the signal, as without rpistat"""
    probe = "import os, resource, signal, sys\n" \
            "print(resource.getrlimit(resource.RLIMIT_FSIZE))\n" \
            "print([line for line in open('/proc/self/status') if line.startswith('Sig')][1:])\n" \
            "print(signal.getsignal(signal.SIGXFSZ), signal.pthread_sigmask(0, []), flush=True)\n" \
            "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n" \
            "os.write(os.open('big', os.O_WRONLY | os.O_CREAT), bytes(300000))\n" \
            "os.kill(os.getpid(), signal.SIGXFSZ)"

    def ignore():
        limit_size()
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def default():
        limit_size()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    for before in [ignore, default]:
        with Folder() as folder:
            answer = expect(folder.call(*record(), *python(probe), preexec_fn=before),
                            128 + signal.SIGXFSZ)
            plain = subprocess.run(python(probe), stdout=subprocess.PIPE, cwd=folder.path,
                                   preexec_fn=before, env=environment(), text=True, check=False)
            assert answer.stdout == plain.stdout, (answer.stdout, plain.stdout)


def test_store_at_the_limit():
    """a store that would exceed the limit on file sizes is handled like a full disk"""
    with Folder() as folder:
        folder.write("long.sim", program.SCRIPT.replace("10s", "2h"))
        answer = folder.call("record", "--pmu", "sim:long.sim", preexec_fn=limit_size)
        expect(answer, 1)
        assert "rpistat.data" in answer.stderr and "full" in answer.stderr, answer.stderr
        expect(folder.call("report"), 0)


def test_full_disk():
    """if the disk is full at the start, this is reported, and the workload is not started"""
    with Folder() as folder:
        os.mkdir(folder / "disk")
        mount = "mount -t tmpfs -o size=16k none disk"
        script = mount + " && head -c 20000 /dev/zero >disk/fill; " \
                 "\"$@\"; echo $? >status"
        test = subprocess.run(["unshare", "-rm", "sh", "-c", mount],
                              cwd=folder.path, capture_output=True, check=False) \
            if shutil.which("unshare") else None
        if test is None or test.returncode != 0:
            raise tap.Skip("no small file system can be made here")
        answer = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script, "sh", RPISTAT, *record(), "-o",
             "disk/rpistat.data", "touch", "started"],
            cwd=folder.path, capture_output=True, text=True, check=False, env=environment(),
            timeout=program.TIMEOUT)
        assert folder.read("status") == b"1\n", (answer, folder.read("status"))
        sentences = [line for line in answer.stderr.splitlines() if line.startswith("rpistat: ")]
        assert len(sentences) == 1 and "disk/rpistat.data" in sentences[0], answer.stderr
        assert not os.path.exists(folder / "started")


def test_own_output():
    """output that is redirected into the future report or store is refused, and the file is unchanged"""
    with Folder() as folder:
        for name, word in [("rpistat.txt", "report"), ("rpistat.data", "store")]:
            for stream in ["stdout", "stderr"]:
                with open(folder / name, "w", encoding="utf-8") as file:
                    other = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: file}
                    answer = folder.call(*record(), "touch", "started", **other)
                assert answer.returncode == 2, answer
                said = answer.stderr if stream == "stdout" else folder.read(name).decode()
                assert said.startswith("rpistat: " + name) and word in said, said
                assert said.count("\n") == 1 and not os.path.exists(folder / "started"), said
                os.unlink(folder / name)
        with open(folder / "out.txt", "w", encoding="utf-8") as file:
            expect(folder.call(*record(), "echo", "kept", stdout=file), 0)
        assert folder.read("out.txt") == b"kept\n"


def test_deleted_store():
    """a store that is deleted during the recording: its log is not given to another store, and no file is unlinked"""
    for left in (None, b""):
        with Folder() as folder:
            # no period is committed before the store is deleted
            first = subprocess.Popen([RPISTAT, *program.counting(), "--period", "10s", "--commit", "60s", "sh", "-c", "echo; read line"],
                                     cwd=folder.path, env=environment(), text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE)
            first.stdout.readline()
            program.freeze(first)  # it cannot notice that its store is deleted
            os.unlink(folder / "rpistat.data")
            if left is not None:
                folder.write("rpistat.data", left)
            before = folder.read("rpistat.data-wal")
            refused(folder.call(*program.counting(), "touch", "started"), 1, "moved or deleted")
            assert folder.read("rpistat.data-wal") == before
            assert not os.path.exists(folder / "started")
            assert os.path.exists(folder / "rpistat.data") == (left is not None)
            first.send_signal(signal.SIGCONT)
            stdout, stderr = first.communicate("\n", timeout=program.TIMEOUT)
            assert first.returncode == 1 and "is saved as rpistat.data.saved-" in stderr, \
                (first.returncode, stdout, stderr)
            expect(folder.call(*program.counting(), "true"), 0)
            assert folder.read("rpistat.data")[18:20] == b"\x02\x02"  # in SQLite's WAL mode
            names = [name for name in os.listdir(folder.path) if name.startswith("rpistat.data")]
            assert len(names) == 2, names
            for name in names:
                answer = expect(folder.call("check", "-i", name), 0)
                assert ": OK (1 run, " in answer.stdout, answer.stdout


def test_unknown_sets():
    """unknown or wrong event sets are reported; the workload is not started"""
    with Folder() as folder:
        folder.write("bad.ini", "[set x]\nevents = nosuch\n")
        refused(folder.call(*record(), "--sets", "./bad.ini", "touch", "started"), 2, "bad.ini:")
        answer = folder.call(*record(), "--sets", "./none.ini", "touch", "started")
        assert answer.returncode in (1, 2), answer
        refused(answer, answer.returncode, "none.ini")
        folder.write("unknown.ini", "[event x]\nevent = no_such_event\n[set s]\nevents = x\n")
        refused(folder.call(*record(), "--sets", "./unknown.ini", "touch", "started"), 2,
                "no_such_event")
        assert not os.path.exists(folder / "started")
        assert not os.path.exists(folder / "rpistat.data")


def test_no_script():
    """a simulation without a script, or with a wrong script, is reported"""
    with Folder() as folder:
        folder.write("bad.sim", "phase\n")
        for choice, word in [("sim:none.sim", "none.sim"), ("sim:bad.sim", "bad.sim:1"),
                             ("sim:", "script")]:
            answer = folder.call("record", "--pmu", choice)
            assert answer.returncode in (1, 2), answer
            refused(answer, answer.returncode, word)
        assert not os.path.exists(folder / "rpistat.data")


def test_simulated_status():
    """the exit status or signal of a simulated workload is returned like that of a real one"""
    with Folder() as folder:
        for statement, status in [("exit 7", 7), ("signal 15", 143)]:
            folder.write("s.sim", statement + "\nphase a 1s instructions=1M\n")
            answer = folder.call("record", "--pmu", "sim:s.sim")
            assert answer.returncode == status and not answer.stderr, answer


tap.main([
    test_status, test_signal_status, test_cannot_find, test_cannot_execute, test_plain_script,
    test_named_like_a_command, test_implicit, test_streams, test_closed_streams, test_descriptors,
    test_environment, test_place, test_signals, test_process_group, test_store, test_other_store,
    test_durations, test_duration, test_duration_status, test_page_faults, test_children,
    *[("refused: " + name, bad_store, make, words) for name, make, words in BAD_STORES],
    test_read_only, test_full_disk, test_size_limit, test_store_at_the_limit, test_own_output,
    test_deleted_store, test_unknown_sets,
    test_no_script, test_simulated_status,
])
