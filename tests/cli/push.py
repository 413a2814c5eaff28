"""Pushing runs: at the end the server has the values of `report`, whatever happens in between."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

from program import RPISTAT, TIMEOUT, Folder, Recording, ask_store, counting, environment, expect, refused, tap

from remote_write import Server, closed  # in tests/support

# Eleven minutes: seven batches.
LONG = "clock 700M\nseed 1\ndefault instructions=200M branches=20M dc_miss=2M\nphase a 320s\nphase b 320s dc_miss=9M\n"


class Place(Folder):
    """A folder with a short and a long run, which all cases share. Each case has its own state."""

    def __enter__(self):
        super().__enter__()
        self.write("long.sim", LONG)
        self.states = 0
        self.record("--label", "short", "-q")
        expect(self.call("record", "-q", "--pmu", "sim:long.sim", "-o", "long.data"), 0)
        return self

    def copy(self, store, name):
        """A copy of a store, including its log."""
        with contextlib.closing(sqlite3.connect(self / store)) as source:
            with contextlib.closing(sqlite3.connect(self / name)) as copy:
                source.backup(copy)

    def command(self, server, *options, store="rpistat.data", state=None):
        if state is None:
            self.states += 1
            state = "state%d" % self.states
        url = server if isinstance(server, str) else server.url
        return ["push", "-i", store, "--state", state, "--timeout", "20s", *options, url]

    def push(self, server, *options, **more):
        return self.call(*self.command(server, *options, **more))

    def start(self, server, *options, **more):
        """A push in progress."""
        return subprocess.Popen([RPISTAT, *self.command(server, *options, **more)], cwd=self.path,
                                env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def totals(self, store="rpistat.data", run="last"):
        """{event: raw count} of a run in the report; the clock event by its label."""
        answer = expect(self.call("report", "-i", store, "-r", run, "--format", "json"), 0)
        figures = json.loads(answer.stdout)["figures"]
        counts = {row["label"] if row["kind"] == "clock" else row["name"]: row["count"] for row in figures
                  if row["kind"] in ("clock", "event") and row["count"] is not None}
        # a label with blanks is the old name of the series
        return {**counts, **{name.lower().replace(" ", "_"): count for name, count in counts.items() if " " in name}}


def pushed(server, **labels):
    """The corresponding values of a server, summed over CPUs."""
    sums = {}
    for series, value in server.last("rpistat_events_total", **labels).items():
        sums[dict(series)["event"]] = sums.get(dict(series)["event"], 0) + value
    return sums


def one_sentence(answer, *words):
    """The last line of standard error is the sentence, without a password."""
    expect(answer, 1)
    assert not answer.stdout, answer.stdout
    for word in words:
        assert word in answer.stderr.splitlines()[-1], answer.stderr
    assert "secret" not in answer.stderr, answer.stderr
    return answer


def test_totals(place):
    """totals equal the report's; series are complete; a second push sends nothing; another server gets everything"""
    with Server() as server:
        answer = expect(place.push(server, state="s"), 0)
        samples = sum(map(len, server.data.values()))
        assert re.fullmatch(r"Pushed %d samples of run 1 to %s in \S+ s, \S+ KiB.\n"
                            % (samples, server.url), answer.stdout) and not answer.stderr, answer
        assert pushed(server) == place.totals() and len(place.totals()) == 9
        assert server.again == 0 and len(server.last("rpistat_phase")) == 3
        assert list(server.last("rpistat_run_info", label="short").values()) == [1]
        for header, value in (("Content-Encoding", "snappy"), ("Content-Type", "application/x-protobuf"),
                              ("X-Prometheus-Remote-Write-Version", "0.1.0")):
            assert server.headers[0][header] == value
        times = sorted(server.data[next(iter(server.last("rpistat_enabled_seconds_total")))])
        assert len(times) == 251 and {b - a for a, b in zip(times, times[1:])} == {100}, times
        requests = server.requests
        answer = expect(place.push(server, state="s"), 0)
        assert answer.stdout == "Run 1 was pushed to %s already.\n" % server.url, answer.stdout
        assert server.requests == requests
        refused(place.push(server, "--again", state="s"), 2, "does not deduplicate", "twice", "--yes")
        assert server.requests == requests
        expect(place.push(server, "--again", "--yes", state="s"), 0)
        assert server.again == samples
    with Server() as server:
        expect(place.push(server, "--every", "10s", state="s"), 0)
        assert pushed(server) == place.totals()
        assert len(server.data[next(iter(server.last("rpistat_enabled_seconds_total")))]) == 4  # 0, 10, 20, 25 s


def test_killed(place):
    """killed ten times and restarted: the same result; only batches that were sent but not yet noted come twice"""
    running = []

    def die(handler, body):
        server.keep(body)
        running[0].kill()
        closed(handler, body)

    with Server() as server:
        for attempt in range(10):
            first = server.requests + 1
            server.behave = lambda number: die if number == first + attempt % 2 else None
            running[:] = [place.start(server, store="long.data", state="killed")]
            running[0].communicate()
            assert running[0].returncode == -signal.SIGKILL
            assert server.requests == first + attempt % 2, (attempt, server.requests)
        server.behave = lambda number: None
        expect(place.push(server, store="long.data", state="killed"), 0)
        assert pushed(server) == place.totals("long.data")
        samples, bodies = sum(map(len, server.data.values())), set(server.bodies)
        assert len(server.bodies) == len(bodies) + 10, (len(server.bodies), len(bodies))
    with Server() as server:
        answer = expect(place.push(server, store="long.data"), 0)
        assert set(server.bodies) == bodies and len(server.bodies) == len(bodies) >= 7
        assert "Pushed %d samples" % samples in answer.stdout


def test_trouble(place):
    """429 and 5xx are retried, with two messages; nothing is lost or duplicated"""
    answers = [(429, [("Retry-After", "0")], b"slow down\n"), (500, [("Retry-After", "0")], b""),
               (503, [("Retry-After", "0")], b"\x1b[2J" * 100), (429, [("Retry-After", "0")], b"")]
    with Server(lambda number: answers[number - 1] if number <= 4 else None) as server:
        answer = expect(place.push(server, "--retry-for", "10s"), 0)  # pauses of one second would add up to 15 s
        notes = answer.stderr.splitlines()
        assert len(notes) == 2 and "status 429 (slow down)" in notes[0] and "again, after" in notes[1], notes
        assert pushed(server) == place.totals() and server.again == 0
    with Server(lambda number: (503, [("Retry-After", "0")], b"")) as server:
        one_sentence(place.push(server, "--retry-for", "200ms"), "status 503", "push again to continue")


def test_no_answers(place):
    """no server at first, no answer, a malformed answer: retried after a second"""
    def garbage(handler, _):
        handler.connection.sendall(os.urandom(1000) + b"\n" * 10)
        closed(handler, _)

    with contextlib.ExitStack() as stack:
        absent = Server()
        absent.http.server_close()
        servers = [stack.enter_context(Server(lambda number, what=what: what if number == 1 else None))
                   for what in (closed, garbage)]
        running = [place.start(server) for server in servers + [absent]]
        line = running[2].stderr.readline()
        assert "accepts no samples" in line and "check host and port in the URL" in line, line
        one_sentence(place.push(absent, "--retry-for", "1ms"), "check host and port in the URL", "push again to continue")
        absent.http.socket = socket.create_server(("127.0.0.1", absent.port), reuse_port=False)
        servers.append(stack.enter_context(absent))
        for process, server in zip(running, servers):
            stdout, stderr = process.communicate(timeout=TIMEOUT)
            assert process.returncode == 0 and stdout.startswith("Pushed "), (stdout, stderr)
            assert "takes samples again" in stderr and pushed(server) == place.totals()
            assert server.again == 0


def test_refused(place):
    """a refused batch is skipped and counted, and the totals are right after it"""
    body = b"out of \x1b]0;bounds" + b"x" * 5000 + b"\nsecond line"
    with Server(lambda number: (400, [], body) if number == 1 else None) as server:
        answer = expect(place.push(server, store="long.data", state="r"), 1)
        note, sentence = answer.stderr.splitlines()
        assert r"status 400 (out of \x1b]0;bounds" in note and "second" not in note and len(note) < 400, note
        assert re.search(r"rpistat: 8\d\d\d samples of run 1 were refused", sentence), sentence
        assert pushed(server) == place.totals("long.data")
        requests = server.requests
        expect(place.push(server, store="long.data", state="r"), 0)
        assert server.requests == requests
    with Server(lambda number: (422, [], b"no")) as server:
        one_sentence(place.push(server), "2027 samples of run 1 were refused", "--again --yes")
    with Server(lambda number: (413, [], b"") if number == 1 else None) as server:
        answer = expect(place.push(server), 1)
        assert "status 413" in answer.stderr and "20 samples of run 1 were refused" in answer.stderr, answer.stderr
        assert answer.stdout.startswith("Pushed ") and server.last("rpistat_phase")


def test_ended(place):
    """an error that no retry can change ends the push with a sentence, and notes nothing"""
    with Server() as other:
        for words, *answer in (
                ("--user-file", 401, [], b"who?\n"),
                ("another URL", 404, [], b""),
                ("another URL", 400, [], b'unsupported path requested: "//"'),
                ("begins with https://", 400, [], b"Client sent an HTTP request to an HTTPS server.\n"),
                ("to %s/api" % other.url, 307, [("Location", other.url + "/api/v1/write")], b""),
                ("/login); redirections are not followed", 302, [("Location", "/login?to=secret")], b""),
                ("200; that is a page", 200, [], b" <html>\n<body>")):
            with Server(lambda count, answer=answer: answer if count == 1 else None) as server:
                url = server.url.replace("//", "//me:secret@")
                one_sentence(place.push(url, state="ended"), "status %d" % answer[0], words)
                assert server.requests == 1 and not noted(place / "ended")
                if answer[0] == 401:
                    answer = expect(place.push(url), 0)
                    assert pushed(server) == place.totals() and "secret" not in answer.stdout
                    assert server.headers[0]["Authorization"] == "Basic bWU6c2VjcmV0"
                    assert b"secret" not in place.read("state%d" % place.states)
        assert other.requests == 0


def test_credentials(place):
    """user names and tokens are read from files"""
    place.write("user", "me:se cret\n")
    place.write("token", "abc.def\n")
    place.write("nothing", "\nme:secret\n")
    for name, reason in (("nothing", "it is empty"), ("none", "No such file")):
        one_sentence(place.push("http://127.0.0.1:1", "--user-file", name), name, reason)
    for option, name, header in (("--user-file", "user", "Basic bWU6c2UgY3JldA=="),
                                 ("--bearer-file", "token", "Bearer abc.def")):
        with Server() as server:
            expect(place.push(server, option, name), 0)
            assert {each.get("Authorization") for each in server.headers} == {header}


def test_arguments(place):
    """a password in a URL is in no argument that ps shows, and in no message"""
    running, shown = [], []

    def look(_):
        while not running:
            time.sleep(0.001)
        with open("/proc/%d/cmdline" % running[0].pid, "rb") as file:
            shown.append([part for part in file.read().decode().split("\0") if part])

    with Server(look) as server:
        url = server.url.replace("//", "//me:secret@")
        for arguments in ([url], ["--url", url], ["--url=" + url]):
            command = ["push", "--state", "ps", "--again", "--yes", *arguments]
            running[:] = [subprocess.Popen([RPISTAT, *command], cwd=place.path, env=environment(),
                                           stdout=subprocess.DEVNULL)]
            assert running[0].wait(TIMEOUT) == 0
            running.clear()
            assert shown.pop()[1:] == [part.replace("me:secret@", "") for part in command]
        assert {each.get("Authorization") for each in server.headers} == {"Basic bWU6c2VjcmV0"}
    assert "secret" not in refused(place.call("push", url, url), 2, "one URL").stderr


def certificates(place):
    """Files with a key and a self-signed certificate for 127.0.0.1, and an expired one."""
    if not shutil.which("openssl"):
        raise tap.Skip("there is no openssl, which makes certificates")
    for arguments in ("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=test -days 2"
                      " -addext subjectAltName=IP:127.0.0.1 -keyout key -out good",
                      "x509 -in good -signkey key -days -1 -out old"):
        subprocess.run(["openssl", *arguments.split()], cwd=place.path, check=True, capture_output=True)
    return [place.write(name + ".pem", place.read("key") + place.read(name), 0o600) for name in ("good", "old")]


def test_tls(place):
    r"""TLS: samples and credentials are sent only to a server whose certificate --ca confirms"""
    good, old = certificates(place)
    place.write("user", "me:secret\n")
    place.write("garbage", "no certificate\n")
    with Server(certificate=good) as server, Server(certificate=old) as expired, Server() as plain:
        ca, other_name = ("--ca", "good"), server.url.replace("127.0.0.1", "localhost")
        no_tls, no_plain = plain.url.replace("http:", "https:"), server.url.replace("https:", "http:")
        for url, options, words in (
                (server.url, (), ("certificate", "--ca")),
                (other_name, ca, ("certificate", "host name 'localhost'")),
                (expired.url, ("--ca", "old"), ("certificate", "valid")),
                (server.url, ("--ca", "none"), ("--ca takes", "PEM")),
                (server.url, ("--ca", "garbage"), ("certificate", "--ca")),
                (no_tls, ("--retry-for", "1ms"), ("is it http:// there?",)),
                (no_plain, ("--retry-for", "1ms"), ("is it https:// there?",))):
            one_sentence(place.push(url, "--user-file", "user", *options, state="tls"), *words)
        server.behave = lambda number: (307, [("Location", plain.url + "/api/v1/write")], b"")
        one_sentence(place.push(server, *ca, "--user-file", "user", state="tls"), "redirections are not followed")
        assert (server.requests, expired.requests, plain.requests) == (1, 0, 0) and not noted(place / "tls")
        server.behave = lambda number: None
        answer = expect(place.push(server, *ca, "--user-file", "user", state="tls"), 0)
        assert answer.stdout.startswith("Pushed ") and not answer.stderr, answer
        assert pushed(server) == place.totals() and b"secret" not in place.read("tls")
        assert {each.get("Authorization") for each in server.headers} == {"Basic bWU6c2VjcmV0"}


def test_state(place):
    """the push state is in the user's folder, which is created, unless --state names another"""
    with Server() as server:
        for variable, folder in (("XDG_STATE_HOME", "x/y"), ("HOME", "home")):
            env = environment(**{"XDG_STATE_HOME": None, variable: place / folder})
            for words in ("Pushed", "already"):
                assert words in expect(place.call("push", server.url, env=env), 0).stdout
            assert os.path.exists(place / {"home": "home/.local/state"}.get(folder, folder) + "/rpistat/pushed")


def peak(place, behave, *options):
    """The maximum memory of a push to such a server in KiB, and its answer."""
    with Server(behave) as server:
        process = place.start(server, *options)
        output = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_maxrss, process.returncode, output


def test_memory(place):
    """long answers, endless headers, slow servers: the status counts, and memory does not grow"""
    def stream(handler, head, part, pause=0):
        sent.clear()
        with contextlib.suppress(OSError):
            handler.connection.sendall(head)
            while sum(sent) < 1000000000:
                handler.connection.sendall(part)
                sent.append(len(part))
                time.sleep(pause)
        handler.close_connection = True

    def taken(head, part, pause=0):
        def behave(handler, body):
            server_of(handler).keep(body)
            stream(handler, head, part, pause)
        return lambda number: behave if number == 1 else None

    def server_of(handler):
        return handler.do_POST.__func__.__closure__[0].cell_contents

    ok, sent = b"HTTP/1.1 200 OK\r\n", []
    least, status, _ = peak(place, lambda number: None)
    assert status == 0
    for behave, options in (
            (taken(ok + b"Content-Length: 1000000000\r\n\r\n", b"x" * 500000), ()),
            (taken(ok, b"X-More: " + b"y" * 1000 + b"\r\n"), ()),
            (taken(ok + b"Content-Length: 1000000000\r\n\r\n", b"x", 0.02), ("--timeout", "300ms"))):
        size, status, output = peak(place, behave, *options)
        assert status == 0 and output[0].startswith("Pushed "), output
        assert size < least + 4096, (size, least)
        assert sum(sent) < 100000000, sum(sent)


def test_believed(place):
    """if a server confirms the samples, this is trusted without a query"""
    with Server(lambda number: (204, [], b"")) as server:
        answer = expect(place.push(server), 0)
        assert answer.stdout.startswith("Pushed 2027 samples") and not answer.stderr, answer
    refused(place.push(server, "--query-url", server.url), 2, "--query-url")
    refused(place.push(server, "--no-verify"), 2, "--no-verify")


def test_start(place):
    """a recorder corrects its start at the end: samples pushed before and after use the same times"""
    place.copy("long.data", "start.data")
    with Server(lambda number: (401, [], b"") if number == 4 else None) as server:
        expect(place.push(server, store="start.data", state="start"), 1)
        ask_store(place / "start.data", "UPDATE run SET start_realtime_ns = start_realtime_ns + 7000000")
        for options in ((), ("--again", "--yes")):
            expect(place.push(server, *options, store="start.data", state="start"), 0)
            times = sorted(server.data[next(iter(server.last("rpistat_enabled_seconds_total")))])
            assert len(times) == 6401 and {b - a for a, b in zip(times, times[1:])} == {100}, options


def test_empty(place):
    """a run without periods has only its info, and does not stop other runs from being pushed"""
    place.copy("rpistat.data", "empty.data")
    with contextlib.closing(sqlite3.connect(place / "empty.data")) as store, store:
        store.executescript("DELETE FROM period; DELETE FROM rollup; UPDATE event SET count = NULL;"
                            "UPDATE event_set SET periods = 0, enabled_ns = 0, running_ns = 0")
    expect(place.call("record", "-q", "-o", "empty.data", "--pmu", "sim:script.sim"), 0)
    with Server() as server:
        answer = expect(place.push(server, "--all", store="empty.data", state="empty"), 0)
        assert answer.stdout.count("Pushed ") == 2, answer.stdout
        assert len(server.last("rpistat_run_info")) == 2 and pushed(server) == place.totals("empty.data")
        assert "Nothing" in expect(place.push(server, "--all", store="empty.data", state="empty"), 0).stdout


def noted(path):
    """The (url, cpu, period) of noted batches."""
    with contextlib.closing(sqlite3.connect(path, timeout=TIMEOUT)) as state:
        try:
            return state.execute("SELECT url, cpu, period FROM pushed ORDER BY url, cpu").fetchall()
        except sqlite3.OperationalError:  # there is no table yet
            return []


def test_follow(place):
    """runs in progress are followed to their ends side by side; a signal ends the push, and accepted batches are noted"""
    with Server() as server, Recording(place, "live.data") as first, Recording(place, "live.data") as second:
        deadline = time.monotonic() + TIMEOUT
        while place.call("runs", "-i", "live.data").stdout.count("recording") < 2:
            assert time.monotonic() < deadline
        follow = place.start(server, "--all", "--follow", store="live.data", state="live")
        stopped = place.start(server.url + "/other/api/v1/write", "--follow", store="live.data", state="live")
        while [row[1] for row in noted(place / "live")].count(-1) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        stopped.send_signal(signal.SIGTERM)
        stdout, stderr = stopped.communicate(timeout=TIMEOUT)
        assert stopped.returncode == 0 and "the push was stopped" in stdout, (stdout, stderr)
        assert len(server.last("rpistat_run_info")) == 2
        for recording, run in ((second, 2), (first, 1)):
            assert recording.end() == 0
            line = follow.stdout.readline()
            assert "of run %d to" % run in line and line.endswith("iB.\n"), line
        stdout, stderr = follow.communicate(timeout=TIMEOUT)
        assert follow.returncode == 0 and not stdout and not stderr, (stdout, stderr)
        one, other = (place.totals("live.data", run) for run in "12")
        assert pushed(server) == {event: one[event] + other[event] for event in one}
    rows = [row for row in noted(place / "live") if row[1] >= -2]
    assert [row[:2] for row in rows] == [(server.url + "/api/v1/write", cpu) for cpu in (-2, -2, -1, -1)] \
        + [(server.url + "/other/api/v1/write", -1)], rows
    assert max(rows[2][2], rows[3][2]) >= rows[4][2] > 0, rows


def test_thinned(place):
    """a store that is downsampled during the push: the totals are computed again, and are right"""
    place.copy("long.data", "thin.data")

    def thin(number):
        if number == 2:
            with contextlib.closing(sqlite3.connect(place / "thin.data")) as store, store:
                store.execute("DELETE FROM period WHERE period < 4800")
                store.execute("INSERT INTO thinned VALUES (1, -1, 0, 4800)")

    with Server(thin) as server:
        expect(place.push(server, store="thin.data"), 0)
        assert pushed(server) == place.totals("long.data")
    with Server() as server:  # and one that did exist
        expect(place.push(server, store="thin.data"), 0)
        assert pushed(server) == place.totals("long.data")


def test_cpus(place):
    """a run by CPU has one series per CPU, each with a position; --all pushes what is not pushed yet"""
    place.copy("rpistat.data", "cpus.data")
    with contextlib.closing(sqlite3.connect(place / "cpus.data")) as store, store:
        for table in ("period", "rollup"):
            for cpu in (0, 5):
                store.execute("CREATE TEMP TABLE copy AS SELECT * FROM %s WHERE cpu = -1" % table)
                store.execute("UPDATE copy SET cpu = %d" % cpu)
                store.execute("INSERT INTO %s SELECT * FROM copy" % table)
                store.execute("DROP TABLE copy")
            store.execute("DELETE FROM %s WHERE cpu = -1" % table)
    expect(place.call("record", "-q", "-o", "cpus.data", "--pmu", "sim:script.sim"), 0)
    with Server() as server:
        expect(place.push(server, "-r", "1", store="cpus.data", state="cpus"), 0)
        for cpu in ("0", "5"):
            assert pushed(server, cpu=cpu) == place.totals()
        requests = server.requests
        answer = expect(place.push(server, "--all", store="cpus.data", state="cpus"), 0)
        assert "of run 2 to" in answer.stdout and answer.stdout.count("\n") == 1, answer.stdout
        assert server.requests > requests
        answer = expect(place.push(server, "--all", store="cpus.data", state="cpus"), 0)
        assert answer.stdout == "Nothing is left to push of 2 runs.\n", answer.stdout
    with Server(lambda number: (413, [], b"") if number == 1 else None) as server:
        answer = expect(place.push(server, "--all", store="cpus.data"), 1)
        assert answer.stdout.count("Pushed") == 2 and "samples of run 1 were refused" in answer.stderr, answer
    assert sorted(row[1] for row in noted(place / "cpus")) == [-4, -4, -2, -2, -1, 0, 5]


def as_user(user):
    return ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]


def test_unit(place):
    """as in the units: a user's recording in a private folder is pushed by another user, through a read-only view; root reads it too, and each file belongs to the recorder's user"""
    recorder, pusher = 65534, 65533
    if os.geteuid() != 0 or not (shutil.which("unshare") and shutil.which("setpriv")):
        raise tap.Skip("other users and a private file system need root, setpriv and unshare")
    counted = counting()
    with Folder() as folder, Server() as server, Server() as ended:
        for name, user, mode in (("private", 0, 0o700), ("private/stores", recorder, 0o755), ("notes", pusher, 0o700),
                                 ("shown", 0, 0o755), ("own", 0, 0o755)):
            os.mkdir(folder / name)
            os.chmod(folder / name, mode)
            os.chown(folder / name, user, user)
        os.chmod(folder.path, 0o755)
        copy, env = shutil.copy(RPISTAT, folder / "rpistat"), environment(GCOV_PREFIX=str(folder / "shown"))

        def inside(at, mode, user, *command):
            mount = "mount --bind private/stores %s && mount -o remount,bind,%s %s && exec \"$@\"" % (at, mode, at)
            return {"args": ["unshare", "-m", "sh", "-c", mount, "sh", *as_user(user), copy, *command],
                    "cwd": folder.path, "env": env, "text": True}

        def owners():
            stores = folder / "private/stores"
            return {name: os.lstat(os.path.join(stores, name)).st_uid for name in os.listdir(stores)}

        if subprocess.run(["unshare", "-m", "mount", "--bind", "private/stores", "shown"], cwd=folder.path,
                          capture_output=True, check=False).returncode:
            raise tap.Skip("nothing can be mounted here")
        live = subprocess.Popen(**inside("own", "rw", recorder, *counted, "-q", "--commit", "0", "--period", "10ms",
                                         "-o", "own/b.data", "cat"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + TIMEOUT
            while not re.search(r"recording +\S+ s +[1-9]",
                                folder.call("runs", "-i", "private/stores/b.data").stdout):
                assert time.monotonic() < deadline and live.poll() is None
            push = ["push", "--all", "-q", "-i", "shown/b.data", "--state"]
            following = subprocess.Popen(**inside("shown", "ro", pusher, *push, "notes/live", "--follow", server.url))
            try:
                while not server.requests:
                    assert time.monotonic() < deadline and following.poll() is None
            finally:
                following.terminate()
                following.wait(TIMEOUT)
            assert set(owners().values()) == {recorder}, owners()
            live.stdin.close()
            assert live.wait(TIMEOUT) == 0
            expect(subprocess.run(**inside("shown", "ro", pusher, *push, "notes/ended", ended.url), check=False,
                                  capture_output=True), 0)
            answer = expect(folder.call("report", "-i", "private/stores/b.data", "--format", "json"), 0)
            figures = {row["name"]: row["count"] for row in json.loads(answer.stdout)["figures"]
                       if row["kind"] == "event" and row["count"] is not None}
            assert figures.items() <= pushed(ended).items(), (figures, pushed(ended))
            assert owners() == {"b.data": recorder, "b.txt": recorder}, owners()
        finally:
            live.kill()
            live.wait()


def main():
    with Place() as place:
        tap.main([(test.__doc__, test, place) for test in (
            test_totals, test_killed, test_trouble, test_no_answers, test_refused, test_ended, test_credentials, test_arguments, test_tls,
            test_state, test_memory, test_believed, test_start, test_empty, test_follow, test_thinned, test_cpus,
            test_unit)])


main()
