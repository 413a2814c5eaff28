#!/bin/sh
# Test with a sanitizer: sh tests/support/sanitize.sh address|coverage|thread|valgrind [TEST...]
#
# address    address and undefined-behaviour sanitizers
# coverage   the same with lines counted, which takes three times as long
# thread     the thread sanitizer, over all but the exact ones when none are named
# valgrind   memcheck, over a few tests when none are named
#
# Builds into $RPISTAT_BUILD-KIND (build-tests-KIND/ when it is not set). A test named is one of
# meson's, or a folder of them, as in unit. Tests that compare counts of page faults, time or memory
# with what the program alone would take are right to fail under a sanitizer: name others.
set -eu
cd "$(dirname "$0")/../.."
kind=${1:-}
[ $# -eq 0 ] || shift
build=${RPISTAT_BUILD:-build-tests}-$kind
# shellcheck source=tests/support/install.sh
. tests/support/install.sh
wrap=
case $kind in
address | coverage)
    [ $# -gt 0 ] || set -- --no-suite exact --no-suite bench --no-suite hw
    # -O0 compiles in half the time of -O1, and the tests take as long; a pointer that is null ends the
    # test anyway, and what may be truncated is guessed without the optimizer; alignment is a third of
    # all checks, and is left to the long test
    unchecked=null,alignment
    [ "$kind" = address ] || unchecked=null
    options="-Db_sanitize=address,undefined -Doptimization=0 -Dwerror=true"
    options="$options -Dc_args=['-fno-sanitize=$unchecked','-Wno-format-truncation']"
    if [ "$kind" = coverage ]; then
        options="$options -Db_coverage=true"
        install_missing 'gcovr command -v gcovr'
    fi
    ;;
thread)
    [ $# -gt 0 ] || set -- --no-suite exact --no-suite bench --no-suite hw --no-suite fuzz
    options=-Db_sanitize=thread
    ;;
valgrind)
    [ $# -gt 0 ] || set -- base/parse base/text store/open store/ring store/read report/report
    options=
    wrap="valgrind -q --error-exitcode=99 --leak-check=full"
    wrap="$wrap --suppressions=$PWD/tests/support/valgrind.supp"
    command -v valgrind >/dev/null 2>&1 || install_missing 'valgrind command -v valgrind'
    ;;
*)
    echo "usage: sh $0 address|coverage|thread|valgrind [TEST...]" >&2
    exit 2
    ;;
esac

install_missing "$packages_build$packages_test"
# shellcheck disable=SC2086
configure_rpistat "$build" -Db_lundef=false $options
find "$build" -name '*.gcda' -delete
# glibc keeps the list of a locale's folders, found or not.
export LSAN_OPTIONS=suppressions=$PWD/tests/support/leaks.txt:print_suppressions=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
if [ -n "$wrap" ]; then
    set -- -t 10 --setup plain --wrap "$wrap" "$@"
else
    # many wait most of the time, and none of them is exact
    set -- --num-processes $((2 * $(nproc))) "$@"
fi
test_rpistat "$build" "$@"
[ "${RPISTAT_SUMMARY:-}" = no ] || exec python3 tests/support/summary.py "$build/meson-logs"
