"""watch --http, tested with raw sockets: who gets which answer, who is refused, and that nothing is
missing.
"""
import json
import os
import re
import resource
import signal
import socket
import sys

import program
from program import Folder, Recording, ask_store, expect, refused, tap
from served import Server, received

FOLDER = Folder(runs=1)
SERVER = None


def test_loopback():
    """it listens at 127.0.0.1 only"""
    found = []
    for name in ["/proc/net/tcp", "/proc/net/tcp6"]:
        with open(name, encoding="ascii") as file:
            found += [line.split()[1] for line in file.readlines()[1:] if line.split()[3] == "0A"]
    port = "%04X" % SERVER.port
    order = "0100007F" if sys.byteorder == "little" else "7F000001"
    assert [each for each in found if each.endswith(":" + port)] == [order + ":" + port], found


def test_token():
    """everybody gets the page, which has no data; data need the token, which is new each time"""
    status, headers, content = SERVER.ask("/", token=False)
    assert status == 200 and headers["content-type"].startswith("text/html")
    assert b"script.sim" not in content and b"<title>Live - rpistat</title>" in content
    assert SERVER.token.encode() not in content
    wrong = [False, "x", SERVER.token[:-1], SERVER.token + "0", SERVER.token.upper() + "g", SERVER.token[:-1] + "g", "0" * 32]
    for path in ["/rows", "/data", "/metrics", "/rows?after=0", "/rows?token=" + SERVER.token, "/other", "/../data"]:
        for token in wrong:
            status, headers, content = SERVER.ask(path, token)
            assert status == 401 and headers["www-authenticate"] == "Bearer", (path, token, status)
            assert b"script.sim" not in content and b"panels" not in content
    assert SERVER.ask("/rows", more="")[0] == 200
    assert SERVER.ask("/rows", token=False, more="Authorization: Basic %s\r\n" % SERVER.token)[0] == 401
    with Server(FOLDER) as other:
        assert other.token != SERVER.token
        assert other.ask("/rows", SERVER.token)[0] == 401
        with open("/proc/%d/cmdline" % other.process.pid, "rb") as file:
            assert other.token.encode() not in file.read()


def test_host():
    """requests for another host name are refused, such as a foreign name that resolves to 127.0.0.1"""
    own = "127.0.0.1:%d" % SERVER.port
    assert SERVER.ask("/rows", host="localhost:%d" % SERVER.port)[0] == 200
    for host in ["evil.example:%d" % SERVER.port, "evil.example", "127.0.0.1", "localhost", "127.0.0.1:1", own + "0", " ",
                 own + ".evil.example", "[::1]:%d" % SERVER.port, ["evil.example", own]]:
        for path in ["/", "/rows", "/data"]:
            assert SERVER.ask(path, host=host)[0] in (400, 403), (path, host)
    answer = SERVER.send(b"GET / HTTP/1.0\r\n\r\n")
    assert re.match(rb"HTTP/1\.\d 40[03] ", answer), answer


def test_methods():
    """only GET is answered"""
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "HEAD", "get", "ANYTHING"]:
        for path in ["/", "/rows"]:
            status, headers, _ = SERVER.ask(path, method=method)
            assert status == 405 and headers["allow"] == "GET", (method, path, status)
    status = SERVER.ask("/rows", method="POST", more="Content-Length: 1000000000\r\n")[0]
    assert status == 405
    assert SERVER.ask("/rows", more="Content-Length: 5\r\n")[0] in (200, 400)


def test_headers():
    """the headers of each answer restrict the browser, and allow no other page access"""
    for path, token in [("/", False), ("/rows", True), ("/rows", False), ("/data", True), ("/metrics", True), ("/none", True)]:
        _, headers, content = SERVER.ask(path, token, more="Origin: http://evil.example\r\n")
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "no-referrer" and headers["cache-control"] == "no-store", path
        assert headers["cross-origin-resource-policy"] == "same-origin", path
        assert headers["content-security-policy"] == "frame-ancestors 'none'", path
        assert not [name for name in headers if name.startswith("access-control")], headers
        if path == "/":
            policy = re.search(r'Content-Security-Policy" content="([^"]*)"', content.decode())[1]
            directives = dict(part.split(None, 1) for part in policy.split(";"))
            assert directives["connect-src"] == "'self'" and directives["default-src"] == "'none'", policy
            assert "unsafe" not in directives["script-src"] and "http" not in directives["script-src"], policy


def test_metrics_formats():
    """/metrics is Prometheus text, or OpenMetrics if the client accepts it; upper and lower case of the scheme are equal"""
    for accept in ("", "Accept: */*\r\n", "Accept: text/plain;version=0.0.4\r\n"):
        status, headers, content = SERVER.ask("/metrics", more=accept)
        text = content.decode()
        assert status == 200 and headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8", headers
        assert "# EOF" not in text and "# UNIT" not in text and "# TYPE rpistat_events_total counter\n" in text, text
        assert "# TYPE rpistat_run_info gauge\n" in text, text
        for name in re.findall(r"^# TYPE (\S+) ", text, re.M):  # the samples have the name in the TYPE line
            assert re.search("^" + name + r"\{", text, re.M), (name, text)
    _, headers, content = SERVER.ask("/metrics", more="Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n")
    assert headers["content-type"].startswith("application/openmetrics-text; version=1.0.0") and content.endswith(b"# EOF\n")
    assert b"# TYPE rpistat_events counter\n" in content and b"# UNIT rpistat_enabled_seconds seconds\n" in content
    for scheme in ("bearer", "BEARER", "Bearer"):
        assert SERVER.ask("/metrics", False, more="Authorization: %s %s\r\n" % (scheme, SERVER.token))[0] == 200, scheme
    assert SERVER.ask("/metrics", False, more="Authorization: basic %s\r\n" % SERVER.token)[0] == 401


def test_garbage():
    """malformed requests and unknown paths are refused, and the next request is answered"""
    own = b"Host: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n\r\n" % (SERVER.port, SERVER.token.encode())
    for uri in [b"\0", b"/none\0/rows", b"/..", b"/../../etc/passwd", b"/rows/..", b"/%2e%2e/rows", b"//rows", b"/rows/",
                b"rows", b"*", b"/\xff\xfe\x80", b"/" + b"a" * 65536, b"/rows?after=-1", b"/rows?after=1e9",
                b"/rows?after=99999999999999999999", b"/rows?after=" + b"1" * 60000, b"/rows?after=%00", b"/page.js",
                b"http://evil.example/rows"]:
        answer = SERVER.send(b"GET " + uri + b" HTTP/1.1\r\n" + own)
        assert answer == b"" or re.match(rb"HTTP/1\.\d 4\d\d ", answer), (uri[:40], answer[:200])
        assert b"panels" not in answer
    for request in [b"\1" * 1000 + b"\r\n\r\n", b"\r\n" * 3000 + b"x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 50 + b"\r\n\r\n",
                    b"GET /rows\r\n" + own, b"GET /rows HTTP/9.9\r\n" + own, b"GET /rows HTTP/1.1 x\r\n" + own,
                    b"GET / HTTP/1.1\r\nA: " + b"b" * 100000 + b"\r\n" + own, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20000 + own]:
        with SERVER.connect() as client:
            try:
                client.sendall(request)
                client.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            answer = received(client)
        assert answer == b"" or re.match(rb"HTTP/1\.\d 4\d\d |HTTP/1\.\d 505 ", answer), (request[:40], answer[:200])
        assert b"panels" not in answer
    assert SERVER.send(b"GET /rows\0/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % SERVER.port).startswith(b"HTTP/1.1 401 ")
    assert SERVER.get("/rows")["data"] >= 0


def test_half_open():
    """any number of silent connections does not keep the owner out"""
    held = []
    try:
        for i in range(64):
            held.append(SERVER.connect())
            held[-1].sendall(b"GET / HTTP/1.1\r\n"[:i % 17])
        assert SERVER.get("/rows")["data"] >= 0 and SERVER.ask("/", token=False)[0] == 200
    finally:
        for client in held:
            client.close()


def test_other_user():
    """another user of the machine gets only the page"""
    if os.geteuid() != 0:
        raise tap.Skip("needs root, to become another user")
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            assert SERVER.ask("/", token=False)[0] == 200 and SERVER.ask("/data", token=False)[0] == 401
            try:
                os.listdir("/proc/%d/fd" % SERVER.process.pid)
            except PermissionError:
                os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def change(name, statement):
    """Change a store while the program uses it."""
    ask_store(FOLDER / name, statement)


def points(found, title="CPU use (% of one CPU)"):
    """The x positions and values of a panel's first line."""
    panel = next(panel for panel in found["panels"] if panel["title"] == title)
    return list(zip(panel["lines"][0]["x"], panel["lines"][0]["value"]))


def test_data():
    """the data equal those of the page that plot writes; rows are the data after a position"""
    data = SERVER.data()
    expect(FOLDER.call("plot", "-o", "run.html"), 0)
    page = json.loads(re.search(r'id="data">\n(.*?)\n</script>', FOLDER.read("run.html").decode(), re.S)[1])
    assert data["page"] == page
    assert data["after"] == 25000000000 and data["recording"] is False
    whole = points(page, "Cycles per instruction")
    for after in [0, 4000000000, 12400000000]:
        rows = SERVER.get("/rows?after=%d" % after)["rows"]
        found = points(rows, "Cycles per instruction")
        assert found == [point for point in whole if point[0] > after / 1e9], (after, found)
    assert SERVER.get("/rows?after=25000000000")["rows"] is None
    assert SERVER.get("/rows")["after"] == 25000000000


def test_live():
    """rows of a recording arrive once each, and none is missing; the end is reported, and the data reach to it"""
    with Recording(FOLDER, "live.data") as recording, Server(FOLDER, "-i", "live.data") as server:
        assert os.getpriority(os.PRIO_PROCESS, server.process.pid) == min(19, os.nice(0) + 10)
        after, found, turns = 0, [], 0
        while turns < 5 or found[-1][0] < 1:
            rows = server.get("/rows?after=%d" % after)
            if rows["rows"]:
                found += points(rows["rows"])
                turns += 1
                assert rows["recording"] and rows["after"] > after
            after = rows["after"]
        assert server.data()["page"]["phases"]["from"][0] == 0
        change("live.data", "UPDATE run SET period_ns = 9223372036854775807")
        assert server.get("/rows?after=0")["rows"]
        change("live.data", "UPDATE run SET period_ns = 10000000")
        assert recording.end() == 0
        rows = server.get("/rows?after=%d" % after)
        assert rows["recording"] is False
        found += points(rows["rows"]) if rows["rows"] else []  # unless the last period came before
        whole = points(server.get("/rows?after=0")["rows"])
        assert found == whole, [pair for pair in zip(found, whole) if pair[0] != pair[1]]
        while server.data()["recording"]:
            pass
        whole = server.get("/data")["page"]
        assert points(whole)[-1] == found[-1] and ["State", "complete"] in whole["run"]
        expect(FOLDER.call("runs", "-i", "live.data", "1", "--set-label", "named"), 0)
        while ["Label", "named"] not in server.data()["page"]["run"]:
            pass
        assert server.end(signal.SIGINT) == 0


def test_memory():
    """memory does not grow with the number of requests of any kind"""
    if program.is_sanitized():
        raise tap.Skip("a sanitizer keeps what was freed")

    def use(times):
        for i in range(times):
            SERVER.ask(["/", "/data", "/rows?after=0", "/none", "/rows?after=x"][i % 5], token=i % 7 != 0)
        with open("/proc/%d/statm" % SERVER.process.pid, encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    before = use(50)
    assert use(200) < before + (1 << 20)


def test_ends():
    """a port in use and wrong options give one sentence; the page reports that the store was removed"""
    refused(FOLDER.call("watch", "--http", "--port", str(SERVER.port)), 1, str(SERVER.port), "--port")
    refused(FOLDER.call("watch", "--http", "--port", "65536"), 2, "--port")
    for arguments in [["--once"], ["--plot", "x.png"], ["--chars", "ascii"]]:
        refused(FOLDER.call("watch", "--http", *arguments), 2, arguments[0])
    refused(FOLDER.call("watch", "--http", "-i", "none.data"), 1, "none.data")
    with Server(FOLDER, "-i", FOLDER.record("-o", "gone.data") and "gone.data") as server:
        os.unlink(FOLDER / "gone.data")
        status, _, content = server.ask("/rows")
        assert status == 500 and "gone.data" in json.loads(content)["error"], content
        assert server.end() == 0


def test_damaged():
    r"""the reason why data cannot be made is reported; data are made again when the reason is gone"""
    FOLDER.write("short.sim", "phase calm 1s\n")  # after a second they are made again
    expect(FOLDER.call("record", "-q", "--pmu", "sim:short.sim", "-o", "damaged.data"), 0)
    change("damaged.data", "UPDATE event_set SET set_no = set_no + 100")
    with Server(FOLDER, "-i", "damaged.data") as server:
        assert "damaged.data is damaged" in server.data()["error"]
        change("damaged.data", "UPDATE event_set SET set_no = set_no - 100")
        while "error" in server.data():
            pass


def test_dies():
    """if the process that makes data dies, this is reported, and the server continues"""
    FOLDER.write("long.sim", "phase calm 1000s\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:long.sim", "-o", "long.data"), 0)
    # reading a store needs up to 32 KiB; more data than that kills the process that writes them
    with Server(FOLDER, "-i", "long.data") as server:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (32768, 32768))
        assert "ended early" in server.data()["error"]
        assert server.get("/rows?after=0")["rows"]
        assert server.end() == 0


CASES = [test_loopback, test_token, test_host, test_methods, test_headers, test_metrics_formats, test_garbage, test_half_open,
         test_other_user, test_data, test_live, test_memory, test_ends, test_damaged,
         test_dies]

with FOLDER:
    try:
        with Server(FOLDER) as SERVER:
            tap.main(CASES)
    except tap.Skip as skip:
        reason = skip

        def skipped(*unused):
            """watch --http"""
            raise reason
        tap.main([skipped])
