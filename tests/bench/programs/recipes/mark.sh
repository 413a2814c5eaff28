# shellcheck shell=bash
# mark coarse=LABEL [fine=LABEL]: from now on the program is in this phase, if it was not before; kept in
# the file "truth". What names no finer phase is one itself; fine=LABEL alone goes on with the coarse one.
mark()
{
    echo "$EPOCHREALTIME $*" >>truth
}
