"""Files of other processes: no file chosen by another user is opened, the process that reads files has
no rights, and names are still found.

usage: process_files.py RPISTAT COMPILER...
"""
import atexit
import contextlib
import ctypes
import os
import shutil
import signal
import sqlite3
import stat
import struct
import subprocess
import sys
import tempfile
import time

from program import Folder, call, environment, expect, is_sanitized, RPISTAT, tap, TIMEOUT

HERE = os.path.dirname(os.path.abspath(__file__))
COMPILER = sys.argv[2:]
USER = {"user": 30002, "group": 30002, "extra_groups": []}
IN_ACCESS, IN_OPEN = 1, 0x20
LIBC = ctypes.CDLL(None, use_errno=True)


def need_root():
    if os.geteuid() != 0:
        raise tap.Skip("another user's programs are only recorded by root")
    if is_sanitized():
        raise tap.Skip("a sanitizer has no place in processes without descriptors and rights")


def hide():
    """Hide the folders of this test from other recorders on this machine, which may be older."""
    if os.geteuid() != 0 or LIBC.unshare(0x00020000) != 0:
        return
    private, recursive = 1 << 18, 1 << 14
    folder = tempfile.mkdtemp(prefix="rpistat-hidden-")
    if LIBC.mount(b"none", b"/", None, private | recursive, None) == 0 and \
            LIBC.mount(b"none", folder.encode(), b"tmpfs", 0, b"mode=755") == 0:
        tempfile.tempdir = folder
    atexit.register(lambda: (LIBC.umount2(folder.encode(), 2), os.rmdir(folder)))


COMPILED = tempfile.TemporaryDirectory(prefix="rpistat-compiled-")


def compile_in(folder, *options):
    """Compile spins and library.so, readable by all. Each combination of options is compiled once."""
    os.chmod(folder, 0o755)
    for source, name, more in (("spins.c", "spins", ["-ldl"]),
                               ("spins_library.c", "library.so", ["-shared", "-fPIC"])):
        kept = os.path.join(COMPILED.name, "".join(options).replace("/", "_") + name)
        if not os.path.exists(kept):
            subprocess.run([*COMPILER, "-O1", *options, "-o", kept, os.path.join(HERE, source), *more], check=True)
        shutil.copy(kept, os.path.join(folder, name))
    return os.path.join(folder, "spins"), os.path.join(folder, "library.so")


@contextlib.contextmanager
def running(*command, **options):
    """A program that computes until the block ends."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, **options) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


def record(folder, pid, *options, samples=20, **more):
    """Record the process, again and for longer if a loaded machine left it so little time that few samples were taken."""
    for duration in "300ms", "3s", "30s":
        store = os.path.join(folder, "%d.data" % time.monotonic_ns())
        expect(call("record", "-q", "-p", str(pid), "--frequency", "997", "--duration", duration, "-o", store, *options, **more), 0)
        with contextlib.closing(sqlite3.connect(store)) as database:
            taken = database.execute("SELECT samples FROM sampling").fetchone()
        if taken is None or taken[0] >= samples:
            return store
    raise AssertionError("%d of %d samples in %s" % (*taken, samples, duration))


def names(store, path):
    """The names, or the reasons for their absence, of the frames in modules with this file name: {how: {name}}."""
    found = {}
    with contextlib.closing(sqlite3.connect(store)) as database:
        for how, function in database.execute(
                "SELECT how, location.function FROM location JOIN frame USING (run_id, frame) "
                "JOIN module USING (run_id, module) WHERE path LIKE ?", ("%/" + path + "%",)):
            found.setdefault(how, set()).add(function)
    return found


def is_named(store, path, function):
    found = names(store, path)
    assert function in found.get("symbol", set()) | found.get("debug", set()), found


class Watch:
    """Watch whether files are opened or read. O_PATH does neither."""
    def __init__(self, path):
        self.fd = LIBC.inotify_init1(os.O_NONBLOCK)
        if LIBC.inotify_add_watch(self.fd, path.encode(), IN_OPEN | IN_ACCESS) < 0:
            raise tap.Skip("%s cannot be watched" % path)

    def count(self):
        try:
            return len(os.read(self.fd, 65536)) // 16
        except BlockingIOError:
            return 0
        finally:
            os.close(self.fd)


def leads_to(folder, target):
    """Root records a program whose library's path leads to the target. The target is not opened, and
    the library still has its names.
    """
    spins, library = compile_in(folder)
    own = os.path.join(folder, "own")
    os.mkdir(own)
    for name in (spins, library):
        shutil.move(name, own)
    for path in (own, os.path.join(own, "spins"), os.path.join(own, "library.so")):
        os.chown(path, USER["user"], USER["group"])
    with running(os.path.join(own, "spins"), os.path.join(own, "library.so"), target,
                 **USER) as process:
        watch = Watch(target)
        store = record(folder, process.pid)
        assert watch.count() == 0, target
    is_named(store, "library.so", "library_spin")


def pipe():
    """A named pipe is not opened"""
    need_root()
    with Folder() as folder:
        os.mkdir(os.path.join(folder.path, "closed"), 0o700)
        target = os.path.join(folder.path, "closed", "queue")
        os.mkfifo(target, 0o600)
        leads_to(folder.path, target)


def device():
    """A device is not opened"""
    need_root()
    with Folder() as folder:
        target = os.path.join(folder.path, "device")
        try:
            os.mknod(target, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        except PermissionError as error:
            raise tap.Skip("no device can be made here: %s" % error)
        leads_to(folder.path, target)


def kernel_file(path):
    need_root()
    if not os.path.exists(path):
        raise tap.Skip("there is no %s" % path)
    with Folder() as folder:
        leads_to(folder.path, path)


def tracefs():
    """A file of tracefs is not opened"""
    need_root()
    with Folder() as folder:
        directory = os.path.join(folder.path, "tracing")
        os.mkdir(directory)
        if LIBC.mount(b"tracing", directory.encode(), b"tracefs", 0, None) != 0:
            raise tap.Skip("tracefs cannot be mounted")
        try:
            leads_to(folder.path, os.path.join(directory, "trace_pipe"))
        finally:
            LIBC.umount(directory.encode())


def replaced():
    """A running program whose file was replaced by another build keeps its names"""
    need_root()
    with Folder() as folder:
        spins, _ = compile_in(folder.path)
        with running(spins) as process:
            subprocess.run([*COMPILER, "-O2", "-o", spins + ".new", os.path.join(HERE, "spins.c"),
                            "-ldl"], check=True)
            os.rename(spins + ".new", spins)
            store = record(folder.path, process.pid)
        is_named(store, "spins", "own_spin")


def other_file():
    """A file that was replaced has no names if nothing else can be opened"""
    with Folder() as folder:
        spins, _ = compile_in(folder.path, "-Wl,--build-id=none")
        copy = os.path.join(folder.path, "copy")
        shutil.copy(spins, copy)
        store = os.path.join(folder.path, "st.data")
        # the workload exchanges its own file and ends, so only its path remains when names are sought, after 20 s
        expect(call("record", "-q", "-o", store, "sh", "-c",
                    "timeout 1 %s | { read ready; mv %s %s; cat; }" % (spins, copy, spins)), 0)
        found = names(store, "spins")
        assert found and set(found) == {"none"}, found


def without_openat2():
    """If the kernel has no openat2, paths are opened component by component"""
    code = ctypes.create_string_buffer(b"".join(
        struct.pack("=HBBI", *instruction) for instruction in
        [(0x20, 0, 0, 0), (0x15, 0, 1, 437), (6, 0, 0, 0x00050000 | 38), (6, 0, 0, 0x7fff0000)]))

    def deny():
        text = struct.pack("@HP", 4, ctypes.addressof(code))
        if LIBC.prctl(38, 1, 0, 0, 0) != 0 or LIBC.prctl(22, 2, ctypes.c_char_p(text)) != 0:
            os._exit(99)
    if subprocess.call(["true"], preexec_fn=deny) == 99:
        raise tap.Skip("no seccomp filter can be set here")
    with Folder() as folder:
        spins, library = compile_in(folder.path)
        link = os.path.join(folder.path, "link.so")
        store = os.path.join(folder.path, "st.data")
        expect(call("record", "-q", "-o", store, "timeout", "1", spins, preexec_fn=deny), 124)
        is_named(store, "spins", "own_spin")
        # a program that has ended, and whose library is now behind a link
        shutil.move(library, link)
        shutil.copy(link, library)
        expect(call("record", "-q", "-o", store, "timeout", "1", spins, library, link,
                    preexec_fn=deny), 124)
        found = names(store, "library.so")
        assert set(found) == {"none"}, found


def need_unshare(flags):
    if subprocess.run(["unshare", flags, "true"], capture_output=True, check=False).returncode:
        raise tap.Skip("unshare %s is not there, or forbidden" % flags)


def namespace():
    """A program in a mount namespace of its own has names"""
    need_root()
    need_unshare("-m")
    with Folder() as folder:
        spins, _ = compile_in(folder.path)
        empty = os.path.join(folder.path, "empty")
        os.mkdir(empty)
        with running("unshare", "-m", "sh", "-c", "mount -t tmpfs none %s && cp %s %s/inside && "
                     "exec %s/inside" % (empty, spins, empty, empty)) as process:
            store = record(folder.path, process.pid)
        is_named(store, "inside", "own_spin")


def overlay():
    """A program without a build-id on overlayfs has names, also after it ended"""
    need_root()
    with Folder() as folder:
        spins, _ = compile_in(folder.path, "-Wl,--build-id=none")
        lower, rest, merged = (os.path.join(folder.path, name) for name in ("low", "rest", "all"))
        for path in (lower, rest, merged):
            os.mkdir(path)
        shutil.move(spins, lower)
        store = os.path.join(folder.path, "st.data")
        mounts = "mount -t tmpfs none %s && mkdir %s/u %s/w && mount -t overlay " \
            "-o lowerdir=%s,upperdir=%s/u,workdir=%s/w none %s" % (rest, rest, rest, lower, rest,
                                                                   rest, merged)
        if subprocess.run(["unshare", "-m", "sh", "-c", mounts], capture_output=True,
                          check=False).returncode:
            raise tap.Skip("overlayfs cannot be mounted")
        subprocess.run(["unshare", "-m", "sh", "-c", mounts + ' && exec "$@"', "sh", RPISTAT, "record",
                        "-q", "-o", store, "timeout", "1", os.path.join(merged, "spins")],
                       stdout=subprocess.DEVNULL, env=environment(), check=False, timeout=TIMEOUT)
        is_named(store, "spins", "own_spin")


def ordinary_user():
    """An ordinary user's own programs have names"""
    need_root()
    with Folder() as folder:
        spins, _ = compile_in(folder.path)
        os.chown(folder.path, USER["user"], USER["group"])
        with running(spins, **USER) as process:
            answer = call("record", "-q", "-p", str(process.pid), "--duration", "1ms", "-o",
                          os.path.join(folder.path, "st.data"), **USER)
            if "perf_event_paranoid" in answer.stderr:
                raise tap.Skip("users may not count here")
            expect(answer, 0)
            store = record(folder.path, process.pid, **USER)
        is_named(store, "spins", "own_spin")


def debug_files():
    """Debug information is found by build-id, also if dwz moved a part of it"""
    need_root()
    for tool in ("objcopy", "strip", "dwz"):
        if not shutil.which(tool):
            raise tap.Skip("%s is not installed" % tool)
    with Folder() as folder:
        spins, library = compile_in(folder.path, "-g")
        if not tempfile.tempdir or LIBC.mount(b"none", b"/usr/lib/debug", b"tmpfs", 0, None) != 0:
            raise tap.Skip("/usr/lib/debug cannot be hidden")
        try:
            text = subprocess.run(["readelf", "-n", spins], capture_output=True, text=True,
                                  check=True).stdout
            build_id = text.split("Build ID: ")[1].split()[0]
            directory = os.path.join("/usr/lib/debug/.build-id", build_id[:2])
            debug = os.path.join(directory, build_id[2:] + ".debug")
            os.makedirs(directory)
            os.mkdir("/usr/lib/debug/.dwz")
            subprocess.run(["objcopy", "--only-keep-debug", spins, debug], check=True)
            subprocess.run(["strip", spins], check=True)
            for shared in (None, "/usr/lib/debug/.dwz/shared.debug"):
                if shared:
                    other = os.path.join(folder.path, "other")
                    subprocess.run(["objcopy", "--only-keep-debug", library, other], check=True)
                    subprocess.run(["dwz", "-m", shared, "-M", shared, debug, other], check=True,
                                   stderr=subprocess.DEVNULL)
                    assert os.path.exists(shared)
                with running(spins) as process:
                    store = record(folder.path, process.pid)
                found = names(store, "spins")
                assert "own_spin" in found.get("debug", set()), found
        finally:
            LIBC.umount2(b"/usr/lib/debug", 2)


def status_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def find_child(parent, name):
    """The child with this name that has given up its rights, or any child with this name."""
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, KeyError):
            if entry.isdigit() and status_of(int(entry))["PPid"] == str(parent) and \
                    status_of(int(entry))["Name"] == name:
                return int(entry)
    return None


def helper():
    """The process that unwinds runs as nobody, without capabilities and descriptors"""
    need_root()
    with Folder() as folder:
        spins, _ = compile_in(folder.path)
        with running(spins) as process, subprocess.Popen(
                [RPISTAT, "record", "-q", "-p", str(process.pid), "-o",
                 os.path.join(folder.path, "st.data")], env=environment()) as recorder:
            try:
                found = {"Uid": ""}
                deadline = time.monotonic() + TIMEOUT
                while not found["Uid"].startswith("65534"):
                    assert recorder.poll() is None and time.monotonic() < deadline, found
                    child = find_child(recorder.pid, "rpistat unwinds")
                    found = status_of(child) if child else found
                    time.sleep(0.01)
                while found["NoNewPrivs"] != "1":
                    assert time.monotonic() < deadline, found
                    found = status_of(child)
                assert found["Uid"].split() == ["65534"] * 4, found
                assert found["Gid"].split() == ["65534"] * 4, found
                assert found["Groups"].split() == [], found
                for name in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
                    assert int(found[name], 16) == 0, (name, found[name])
                links = []
                for fd in os.listdir("/proc/%d/fd" % child):
                    with contextlib.suppress(FileNotFoundError):  # a file that it has read meanwhile
                        links.append(os.readlink("/proc/%d/fd/%s" % (child, fd)))
                others = [link for link in links if link != "/dev/null" and
                          not link.startswith("socket:")]
                # files that are being read, for at most a second
                assert all(link.startswith(("/usr/", "/lib", folder.path)) for link in others), links
                assert sum(link.startswith("socket:") for link in links) == 2, links
                # it is not dumpable, so its files in /proc belong to root
                assert os.stat("/proc/%d/fd" % child).st_uid == 0
            finally:
                recorder.send_signal(signal.SIGINT)
                assert recorder.wait(TIMEOUT) == 0


def without_nobody():
    """In a user namespace without nobody nothing is named, and one sentence gives the reason"""
    need_root()
    need_unshare("-Ur")
    with Folder() as folder:
        spins, _ = compile_in(folder.path)
        store = os.path.join(folder.path, "st.data")
        answer = subprocess.run(["unshare", "-Ur", RPISTAT, "record", "-o", store, "timeout", "1",
                                 spins], capture_output=True, text=True, env=environment(),
                                check=False, timeout=TIMEOUT)
        assert answer.returncode == 124, answer
        assert answer.stderr.count("nobody") == 1, answer.stderr
        with contextlib.closing(sqlite3.connect(store)) as database:
            rows = database.execute("SELECT DISTINCT how FROM location JOIN frame USING (run_id, frame)"
                                    " JOIN module USING (run_id, module) WHERE kind = 'file'"
                                    ).fetchall()
        assert rows == [("none",)], rows


def jit_map():
    """The map of a just-in-time compiler must belong to its user, and must not be a link"""
    need_root()
    with Folder() as folder:
        os.chmod(folder.path, 0o755)
        source = os.path.join(folder.path, "jit.c")
        with open(source, "w", encoding="ascii") as file:
            file.write("""#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
extern char spin_start[], spin_end[];
__asm__(".text\\nspin_start: jmp spin_start\\nspin_end:");
int main(void) { void *code = mmap((void *)0x700000000000, 4096, 7, 0x32, -1, 0);
memcpy(code, spin_start, (size_t)(spin_end - spin_start)); puts("ready"); fflush(stdout);
((void (*)(void))code)(); }
""")
        program = os.path.join(folder.path, "jit")
        if subprocess.run([*COMPILER, "-o", program, source], capture_output=True,
                          check=False).returncode:
            raise tap.Skip("the code is for x86")
        for owner, makes_link, how in ((USER["user"], False, "map"), (30003, False, "none"),
                                       (USER["user"], True, "none")):
            with running(program, **USER) as process:
                path = "/tmp/perf-%d.map" % process.pid
                real = os.path.join(folder.path, "real") if makes_link else path
                try:
                    with open(real, "w", encoding="ascii") as file:
                        file.write("700000000000 1000 made_code\n")
                    os.chown(real, owner, owner)
                    if makes_link:
                        os.symlink(real, path)
                    store = record(folder.path, process.pid)
                finally:
                    os.unlink(path)
            found = names(store, "perf-%d.map" % process.pid)
            assert set(found) == {how} and (how == "none" or found[how] == {"made_code"}), found


def hanging():
    """A FUSE file that does not answer blocks no recording, and does not cost other files their names"""
    need_root()
    if not os.path.exists("/dev/fuse"):
        raise tap.Skip("there is no /dev/fuse")
    with Folder() as folder:
        spins, library = compile_in(folder.path)
        mounted = os.path.join(folder.path, "mounted")
        os.mkdir(mounted)
        with subprocess.Popen([sys.executable, os.path.join(HERE, "hanging_fuse.py"), library, mounted],
                              stdout=subprocess.PIPE) as server:
            try:
                if server.stdout.readline() != b"mounted\n":
                    raise tap.Skip("FUSE cannot be mounted")
                with running(spins, os.path.join(mounted, "library.so")) as process, \
                        running(spins) as other:
                    server.send_signal(signal.SIGSTOP)
                    store = record(folder.path, process.pid, "-p", str(other.pid), samples=100)
                found = names(store, "library.so")
                assert set(found) == {"none"}, found
                is_named(store, "spins", "own_spin")
            finally:
                server.kill()  # the process that waits for it continues
                server.wait()
                LIBC.umount2(mounted.encode(), 2)


hide()
tap.main([pipe, device, ("A file of /proc is not opened", kernel_file, "/proc/consoles"),
          ("/proc/kmsg is not opened", kernel_file, "/proc/kmsg"),
          ("A file of sysfs is not opened", kernel_file, "/sys/kernel/notes"), tracefs, replaced,
          other_file, without_openat2, namespace, overlay, debug_files, ordinary_user, helper,
          without_nobody, jit_map, hanging])
