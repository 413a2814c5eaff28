# shellcheck shell=sh disable=SC2034
# What building and testing rpistat needs, and how to get it: read by examples/quickstart and
# tests/run (`. tests/support/install.sh`), so that the list stands in one place.
#
# Each line: a Debian package, and the check that tells that it is not needed. Checks look for the
# thing itself and not for the package, so that they are right on other systems too.

packages_tools='
gcc              command -v cc
libc6-dev        has_header stdio.h
meson            command -v meson
ninja-build      command -v ninja
pkg-config       command -v pkg-config
python3          command -v python3
'

packages_build="$packages_tools"'
libsqlite3-dev   pkg-config --exists sqlite3
libinih-dev      pkg-config --exists inih
libcsv-dev       has_header csv.h
liblapacke-dev   pkg-config --exists lapacke
libdw-dev        pkg-config --exists libdw
libiberty-dev    has_header libiberty/demangle.h
libcurl4-openssl-dev has_header curl/curl.h
libsnappy-dev    has_header snappy-c.h
libmicrohttpd-dev has_header microhttpd.h
gnuplot-nox      command -v gnuplot
scdoc            command -v scdoc
'

packages_test='
libcmocka-dev    pkg-config --exists cmocka
sqlite3          command -v sqlite3
librsvg2-bin     command -v rsvg-convert
poppler-utils    command -v pdfinfo
libcap2-bin      command -v setcap || test -x /usr/sbin/setcap
jq               command -v jq
python3-pandas   /usr/bin/python3 -c "import pandas"
python3-jsonschema test -d /usr/lib/python3/dist-packages/jsonschema || python3 -c "import jsonschema"
bash-completion  test -e /usr/share/bash-completion/bash_completion
zsh              command -v zsh
fish             command -v fish
'

# what examples/package/deb needs in addition
packages_package='
debhelper        command -v dh
dpkg-dev         command -v dpkg-buildpackage
libpfm4-dev      has_header perfmon/pfmlib.h
'

# what its test needs in addition; .ci/run installs both lists
packages_package_test='
lintian          command -v lintian
man-db           command -v man
'

# .ci/run installs these where no systemd would start them as services, at all addresses
packages_databases='
victoria-metrics command -v victoria-metrics
prometheus       command -v prometheus
'

has_header()
{
    echo "#include <$1>" | cc -E -x c - >/dev/null 2>&1
}

# missing LIST: the packages of the list whose check fails
missing()
{
    echo "$1" | while read -r package check; do
        if [ -n "$package" ] && ! eval "$check" >/dev/null 2>&1; then
            echo "$package"
        fi
    done
}

# apt_get ARGUMENT...: run apt-get as $as_root. While another program holds one of its locks, repeat this for
# five minutes: apt-get's own DPkg::Lock::Timeout does not cover the lock of the package lists.
apt_get()
{
    for attempt in $(seq 150); do
        apt_output=$($as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" 2>&1) && return 0
        case $apt_output in *"Could not get lock"*) sleep "${lock_every_s:-2}" ;; *) break ;; esac
    done
    echo "$apt_output" >&2
    return 1
}

# install_missing LIST: get what is missing with apt-get; nothing is asked for, nor is the network
# touched, when nothing is. Fails with one sentence when that is not possible.
install_missing()
{
    needed=$(missing "$1" | tr '\n' ' ')
    [ -n "$needed" ] || return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "$0: not found: ${needed% } (Debian's names); install them and try again" >&2
        return 1
    fi
    as_root=
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "$0: please let root run: apt-get install ${needed% }" >&2
            return 1
        fi
        as_root=sudo
    fi
    echo "Installing ${needed% }"
    # shellcheck disable=SC2086
    { apt_get update && apt_get install -y --no-install-recommends $needed; } || {
        echo "$0: apt-get could not install ${needed% }" >&2
        return 1
    }
}

# configure_rpistat FOLDER [OPTION...]: configure, a second time when it was before. What was printed is
# shown only when it failed.
configure_rpistat()
{
    folder=$1
    shift
    mkdir -p "$folder" || return 1
    if [ -f "$folder/build.ninja" ]; then
        set -- --reconfigure "$@"
    fi
    log=$folder/build.log
    meson setup "$folder" "$@" >"$log" 2>&1 && return 0
    cat "$log" >&2
    echo "$0: $folder could not be configured" >&2
    return 1
}

# run_shown LOG COMMAND...: run the command with its output in LOG, and print every ten seconds how far it
# is, from ninja's and meson's counts in LOG. Returns the command's status.
run_shown()
{
    shown_log=$1
    shift
    : >"$shown_log"
    print_progress "$shown_log" "$$" &
    printer=$!
    "$@" >"$shown_log" 2>&1
    set -- $?
    kill "$printer" 2>/dev/null || :
    wait "$printer" 2>/dev/null || :
    return "$1"
}

# print_progress LOG PID: print the newest count in LOG every ten seconds, until PID has ended. A sleep that is left
# behind keeps no output open.
print_progress()
{
    while sleep "${progress_every_s:-10}" >/dev/null 2>&1 </dev/null && kill -0 "$2" 2>/dev/null; do
        progress=$(sed -n 's:^\[\([0-9]*\)/\([0-9]*\)\] .*:build step \1 of \2:p
            s:^ *\([0-9]*\)/\([0-9]*\) .* / \([^ ]*\) .*:ran \1 of \2 test programs, last \3:p' "$1" | tail -n 1)
        [ -z "$progress" ] || echo "  ${1%/*}: $progress"
    done
}

# test_rpistat FOLDER [OPTION...]: build what these meson tests need, and run them. Fails when they
# could not be built; what they found is in the folder's meson-logs. Timeouts are those of a slow machine.
test_rpistat()
{
    folder=$1
    shift
    rm -f "$folder/meson-logs/"testlog*
    run_shown "$folder/test.log" meson test -C "$folder" -t 5 "$@" || {
        if [ $? -eq 125 ]; then
            cat "$folder/test.log" >&2
            echo "$0: the build in $folder failed" >&2
            return 1
        fi
    }
}

# build_rpistat FOLDER [OPTION...]: configure and build. A terminal shows ninja's own line; elsewhere a line
# every ten seconds shows how far it is, and the output of a build that failed is printed.
build_rpistat()
{
    configure_rpistat "$@" || return 1
    if [ -t 1 ]; then
        ninja -C "$folder" && return 0
    else
        run_shown "$log" ninja -C "$folder" && return 0
        cat "$log" >&2
    fi
    echo "$0: the build in $folder failed" >&2
    return 1
}
