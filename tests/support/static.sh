#!/bin/sh
# Look at the source without running it: sh tests/support/static.sh [tidy [FILE...]]
#
# cppcheck over src/ (15 s); with `tidy`, clang-tidy after it, as .clang-tidy says, over all of src/
# (ten minutes) or the files named. The status is 1 when anything was found.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/install.sh
. tests/support/install.sh
install_missing 'cppcheck command -v cppcheck'

# Suppressed, because they are not so: after realloc cppcheck loses who holds the memory (memleak),
# takes a condition on an index for one on the array (arrayIndexThenCheck), and does not follow
# rps_error_set(NULL), which allows it (ctunullpointer), nor item[-1] behind a count, nor the factors
# of parse.c's table, none of which is 0.
cppcheck -q --std=c11 --enable=warning,performance,portability --error-exitcode=1 -Iinclude -Isrc \
    --suppress=memleak:src/plot/cloud.c --suppress=arrayIndexThenCheck \
    --suppress=ctunullpointer:src/base/error.c \
    --suppress=nullPointerRedundantCheck:src/sim/sim_script.c \
    --suppress=zerodivcond:src/base/parse.c src
echo "cppcheck: nothing found"

[ "${1:-}" = tidy ] || exit 0
shift
install_missing 'clang-tidy command -v clang-tidy'
build=${RPISTAT_BUILD:-build-tests}
[ -f "$build/compile_commands.json" ] || build_rpistat "$build" -Dwerror=true
[ $# -gt 0 ] || set -- src/*/*.c
status=0
for file; do
    clang-tidy -p "$build" --quiet "$file" 2>/dev/null || status=1
done
[ $status != 0 ] || echo "clang-tidy: nothing found"
exit $status
