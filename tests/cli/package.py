"""The Debian packages. The packages of this build can be installed and removed completely, and a new user
is able to use them (newcomer.py). With the argument `built`, they are built as a user builds them, and checked by lintian.
"""
import atexit
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import newcomer
from program import RPISTAT, environment, tap

BUILD = os.path.dirname(os.path.dirname(os.path.dirname(RPISTAT)))


def run(*command, **options):
    options.setdefault("env", environment(LC_ALL="C"))
    done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    assert done.returncode == 0, "%s: %s" % (" ".join(command), done.stdout)
    return done.stdout


def files(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names
                  if not where.startswith(os.path.join(folder, "var")))


def opened():
    """The libraries that the program opens when it needs them, for example libpfm for "libpfm.so.4"."""
    found = set()
    for path in glob.glob(os.path.join(tap.root(), "src", "**", "*.c"), recursive=True):
        with open(path, encoding="utf-8") as file:
            found.update(re.findall(r'"(lib[a-z]+)[a-z-]*\.so\.[0-9]+"', file.read()))
    assert len(found) >= 5, found
    return found


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise tap.Skip("%s is not installed" % tool)


def packages(folder, *build):
    """Make the packages in the folder. Return the paths of the program's and the library's package."""
    run("sh", os.path.join(tap.root(), "examples", "package", "deb"), *build, cwd=folder,
        env=environment(LC_ALL="C", RPISTAT_BUILD=os.path.join(folder, "build")))
    library, program = sorted(glob.glob(os.path.join(folder, "*.deb")))
    return program, library


@functools.lru_cache(maxsize=None)
def of_build():
    """The packages of this build, made once."""
    need("dpkg", "dpkg-buildpackage", "dh")
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return packages(folder, BUILD)


def test_package():
    """the packages contain the program, its manual and all its files, and leave nothing behind"""
    package, library = of_build()
    with tempfile.TemporaryDirectory() as folder:
        assert "libsqlite3-0" in run("dpkg-deb", "-f", package, "Depends")
        field = run("dpkg-deb", "-f", package, "Recommends")
        for name in opened() | {"gnuplot-nox"}:
            assert name in field, (name, field)
        root = os.path.join(folder, "root")
        for empty in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log"):
            os.makedirs(os.path.join(root, empty))
        for empty in ("status", "available"):
            open(os.path.join(root, "var/lib/dpkg", empty), "w", encoding="ascii").close()
        dpkg = ("dpkg", "--root=" + root, "--log=/dev/null", "--force-depends", "--force-not-root",
                "--force-script-chrootless")
        run(*dpkg, "-i", package, library)
        installed = files(root)
        pages = ["man%s/%s.gz" % (name[-1], name) for name in os.listdir(os.path.join(BUILD, "src/man"))
                 if re.fullmatch(r"(lib)?rpistat[a-z.-]*\.[1-9]", name)]
        assert len(pages) >= 25, pages
        for end in pages + ["usr/bin/rpistat", "rpistat/plot/draw.gp", "rpistat/plot/page.html", "etc/rpistat/config",
                            "system/rpistat-record.service", "sysctl.d/10-rpistat.conf", "tmpfiles.d/rpistat.conf",
                            "rpistat/region.h", "/librpistat-region.a", "pkgconfig/rpistat.pc",
                            "doc/rpistat/copyright", "examples/python/rpistat.py"]:
            assert any(name.endswith(end) for name in installed), (end, installed)
        program = os.path.join(root, "usr/bin/rpistat")
        version = run(program, "--version").split()[1]
        assert run("dpkg-deb", "-f", package, "Version").strip() == version
        run(*dpkg, "-P", "rpistat", "librpistat-region-dev")
        assert files(root) == [], files(root)


def test_changes():
    """the release notes and the changelog begin with the version of the program"""
    version = run(RPISTAT, "--version").split()[1]
    for path, start in (("examples/package/debian/changelog", r"^rpistat \((.*?)\)"),
                        ("src/man/rpistat-changes.7.scd", r"^# VERSION (.*)")):
        with open(os.path.join(tap.root(), path), encoding="utf-8") as file:
            assert re.search(start, file.read(), re.M).group(1) == version, path


def test_place():
    """the program contains no path of its build, and reads no part of a page from parent directories"""
    need("strip")
    with tempfile.TemporaryDirectory() as folder:
        own = os.path.join(folder, "a", "b", "bin")
        os.makedirs(own)
        program = os.path.join(own, "rpistat")
        run("strip", "-o", program, RPISTAT)
        with open(program, "rb") as file:
            binary = file.read()
        assert tap.root().encode() not in binary and BUILD.encode() not in binary
        run(program, "-q", "-o", "store.data", "true", cwd=folder)
        for above in ("a/plot", "a/b/plot", "plot"):
            shutil.copytree(os.path.join(tap.root(), "plot"), os.path.join(folder, above))
        plot = [program, "plot", "-i", "store.data", "-o", "page.html"]
        installed = re.search(rb"/[\w/.-]+/share/rpistat/plot/draw\.gp", binary).group().decode()
        if os.path.exists(installed):
            raise tap.Skip("%s is there" % installed)
        failed = subprocess.run(plot, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
        assert failed.returncode == 1 and os.path.dirname(installed) in failed.stderr, failed
        os.symlink(os.path.join(tap.root(), "plot"), os.path.join(own, "plot"))
        run(*plot, cwd=folder)


def test_built():
    r"""lintian finds no fault in the packages of a complete build, and the installed program works for each user"""
    need("dpkg-buildpackage", "dh", "lintian", "readelf", "man")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        made = packages(folder)
        changes, = glob.glob(os.path.join(folder, "build-package", "*.changes"))
        found = run("lintian", "--no-cfg", "--allow-root", "--display-info", "--pedantic", changes)
        assert not re.search("^[EWIP]: ", found, re.M), found
        root = os.path.join(folder, "root")
        for package in made:
            run("dpkg-deb", "-x", package, root)
        program = os.path.join(root, "usr/bin/rpistat")
        with open(program, "rb") as file:
            assert folder.encode() not in file.read()
        dynamic = run("readelf", "-dW", program)
        assert re.search(r"\(FLAGS_1\).* NOW.* PIE", dynamic), dynamic
        if run("dpkg", "--print-architecture").strip() == "amd64":
            archive, = glob.glob(os.path.join(root, "usr/lib/*/librpistat-region.a"))
            notes = run("readelf", "-nW", archive)
            assert notes.count("IBT, SHSTK") == notes.count("File: ") > 0, notes
        for page in glob.glob(os.path.join(root, "usr/share/man/man*/*")):
            shown = subprocess.run(["man", "--warnings", "-l", page], env=environment(LC_ALL="C.UTF-8", MANWIDTH="80"),
                                   stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
            assert "NAME" in shown.stdout and not shown.stderr, (page, shown.stderr)
        home = os.path.join(folder, "home")
        os.mkdir(home)
        nobody = {}
        if os.geteuid() == 0:
            os.chown(home, 65534, 65534)
            nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        for arguments in (["/bin/true"], ["check"], ["report"]):
            run(program, *arguments, cwd=home, **nobody)


tap.main([test_built] if sys.argv[2:] == ["built"] else
         [test_package, test_changes, test_place, *newcomer.cases(lambda: of_build()[0])])
