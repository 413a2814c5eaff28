"""The Debian package: made of this build, it installs and removes itself whole."""
import glob
import os
import re
import shutil
import subprocess
import tempfile

from program import RPISTAT, environment, tap

BUILD = os.path.dirname(os.path.dirname(os.path.dirname(RPISTAT)))


def run(*command, **options):
    done = subprocess.run(command, env=environment(LC_ALL="C"), stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    assert done.returncode == 0, "%s: %s" % (" ".join(command), done.stdout)
    return done.stdout


def files(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names
                  if not where.startswith(os.path.join(folder, "var")))


def opened():
    """The libraries that the program opens when it needs them: libpfm, of "libpfm.so.4"."""
    found = set()
    for path in glob.glob(os.path.join(tap.root(), "src", "**", "*.c"), recursive=True):
        with open(path, encoding="utf-8") as file:
            found.update(re.findall(r'"(lib[a-z]+)[a-z-]*\.so\.[0-9]+"', file.read()))
    assert len(found) >= 5, found
    return found


def test_package():
    """the package has the program, its manual and all that it reads, and leaves nothing behind"""
    for tool in ("dpkg", "dpkg-deb", "dpkg-shlibdeps", "strip"):
        if not shutil.which(tool):
            raise tap.Skip("%s is not installed" % tool)
    with tempfile.TemporaryDirectory() as folder:
        run("sh", os.path.join(tap.root(), "examples", "package", "deb"), BUILD, cwd=folder)
        package, = [name for name in os.listdir(folder) if name.endswith(".deb")]
        package = os.path.join(folder, package)
        field = run("dpkg-deb", "-f", package, "Depends")
        assert "libsqlite3-0" in field and "gnuplot-nox" in field, field
        field = run("dpkg-deb", "-f", package, "Recommends")
        for library in opened():
            assert library in field, (library, field)
        root = os.path.join(folder, "root")
        for empty in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log"):
            os.makedirs(os.path.join(root, empty))
        for empty in ("status", "available"):
            open(os.path.join(root, "var/lib/dpkg", empty), "w", encoding="ascii").close()
        dpkg = ("dpkg", "--root=" + root, "--log=/dev/null", "--force-depends", "--force-not-root")
        run(*dpkg, "-i", package)
        installed = files(root)
        for end in ("bin/rpistat", "man1/rpistat.1.gz", "man1/rpistat-runs.1.gz", "man7/rpistat-security.7.gz", "rpistat/plot/draw.gp", "rpistat/plot/page.html",
                    "rpistat/region.h", "pkgconfig/rpistat.pc", "doc/rpistat/copyright", "doc/rpistat/rpistat.config",
                    "doc/rpistat/python/rpistat.py"):
            assert any(name.endswith(end) for name in installed), (end, installed)
        program, = [name for name in installed if name.endswith("bin/rpistat")]
        version = run(os.path.join(root, program), "--version").split()[1]
        assert run("dpkg-deb", "-f", package, "Version").strip() == version
        run(*dpkg, "-P", "rpistat")
        assert files(root) == [], files(root)


tap.main([test_package])
