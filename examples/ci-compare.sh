#!/bin/sh
# Is it slower than before? The steps of the job in ci-compare.yml:
#
#   sh examples/ci-compare.sh build COMMIT      build this tree in build/, and that of COMMIT in before/build/
#   sh examples/ci-compare.sh compare OLD NEW   record both commands in turns, and compare them
#
# Leaves a folder compare/: the store, compare.md for a comment or a job's summary, compare.html. Ends
# with status 3 when a limit is passed, with 4 when that cannot be told (the runs vary too much for
# their number), with others when something failed. Environment:
#
#   RPISTAT   the program (build/src/cli/rpistat)
#   ROUNDS    runs of each command (5)
#   LIMITS    what fails, words with blanks in between (elapsed>+5%)
#   INCONCLUSIVE  pass or fail: the result if a limit is inconclusive (status 0 or 3)
set -eu

build()
{
    # another project's own way to build stands here; rpistat is built in build/
    # shellcheck disable=SC1091,SC2154
    {
        . tests/support/install.sh
        install_missing "$packages_build"
    }
    build_rpistat build
    git worktree add --detach before "$1"
    (cd before && build_rpistat build)
}

compare()
{
    rpistat=${RPISTAT:-build/src/cli/rpistat}
    store=compare/rpistat.data
    mkdir compare # an earlier store would be compared too
    "$rpistat" record -q -o "$store" --repeat "${ROUNDS:-5}" --label old,new \
        --alternate sh -c "$1" -- sh -c "$2"
    "$rpistat" compare -i "$store" old new -o compare/compare.html
    set -- old new --format markdown -o compare/compare.md
    for limit in ${LIMITS:-elapsed>+5%}; do
        set -- "$@" --fail-if "$limit"
    done
    status=0
    "$rpistat" compare -i "$store" "$@" ${INCONCLUSIVE:+--inconclusive "$INCONCLUSIVE"} || status=$?
    cat compare/compare.md
    cat compare/compare.md >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
    return "$status"
}

case ${1:-} in
build) build "${2:?the commit to compare with}" ;;
compare) compare "${2:?the old command}" "${3:?the new command}" ;;
*)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
