"""What people type wrong: one sentence on standard error that says what failed, on what, and what to
do; status 2 for wrong usage, 1 for what failed, 126 and 127 for a workload that cannot be executed
or found. Nothing is written to standard output, and no file is left behind."""
import os
import shlex
import shutil
import sqlite3

from program import COMMANDS, Folder, call, environment, expect, refused, tap

SIM = "record --pmu sim:script.sim "

# The call as a shell user types it, its status, and parts of the sentence.
MISTAKES = [
    # names
    ("plots", 127, "plots: command not found", "did you mean plot?", "'rpistat help'"),
    ("reprot -o x.txt", 127, "did you mean report?"),
    ("list", 127, "did you mean runs?"),
    ("stats", 127, "did you mean report?"),
    ("-q graph", 127, "did you mean plot?"),
    ("-q runs", 127, "runs: command not found", "a command of rpistat comes first", "rpistat runs"),
    ("version", 127, "did you mean --version?"),
    ("helpp", 127, "did you mean help?"),
    ("mine", 127, "did you mean ./mine?"),
    ("no-such-program -x", 127, "no program in PATH has this name", "'rpistat help'"),
    ("record no-such-program", 127, "no directory of PATH has it", "./NAME"),
    ("./no-such-program", 127, "./no-such-program: command not found: there is no such file"),
    ("notes/x", 127, "a part of its path is not a directory"),
    ("''", 127, "its name is empty"),
    ("./notes", 126, "./notes: permission denied", "not an executable file"),
    ("./folder", 126, "is a directory"),
    ("help nosuch", 2, "no command 'nosuch'", "'rpistat help'"),
    ("help list", 2, "no command 'list': did you mean runs?"),
    ("report plot", 2, "report takes no argument 'plot'", "one command at a time"),
    ("runs report", 1, "run report: not in rpistat.data"),
    ("report rpistat.data", 2, "'rpistat.data'", "a store with -i"),
    ("report 2", 2, "takes no argument '2'", "a run is named with -r"),
    ("plot x.svg", 2, "'x.svg'", "rpistat plot --help"),
    ("check rpistat.data", 2, "a store is named with -i"),
    ("verify software", 2, "verify takes no argument 'software'", "rpistat verify --help"),
    # options
    ("--bogus ./x", 2, "'--bogus' is unknown", "rpistat record --help"),
    ("-z ./x", 2, "'-z'", "--help"),
    ("-qz ./x", 2, "'-z'"),
    ("report --bogus=3", 2, "'--bogus=3'", "rpistat report --help"),
    ("report --quiet -z", 2, "'-z'"),
    ("report --quiet=3", 2, "'--quiet' takes no argument"),
    ("--version=3", 2, "'--version' takes no argument"),
    ("--perod 10ms ./x", 2, "'--perod'", "did you mean --period?"),
    ("plot --metrics=cpi", 2, "did you mean --metric?"),
    ("-I 100 ./x", 2, "'-I'", "did you mean --period?"),
    ("--timeout 5 ./x", 2, "did you mean --duration?"),
    ("record --name x ./x", 2, "did you mean --label?"),
    ("record --store x ./x", 2, "did you mean --output?"),
    ("record -i x ./x", 2, "did you mean --output?"),
    ("report --store x", 2, "did you mean --input?"),
    ("report --rates", 2, "'--rates'", "'rpistat export' has it"),
    ("runs --explain", 2, "has it; 'rpistat runs --help'"),
    ("events -i rpistat.data", 2, "'-i'", "rpistat events --help"),
    ("watch --from 5s", 2, "'--from'", "rpistat watch --help"),
    ("push --state s", 2, "name the database's URL"),
    ("push --state s ftp://localhost", 2, "Unsupported URL scheme", "http://HOST:8428"),
    ("push --state s http://localhost:x", 2, "Port number"),
    ("push --state s --again http://localhost", 2, "--again", "twice", "--yes"),
    ("push --every 5ms http://localhost:1", 2, "--every 5ms", "10ms"),
    ("push --all -r 1 http://localhost:1", 2, "--all and -r exclude each other: leave one of them out"),
    ("push --user-file a --bearer-file b http://localhost:1", 2, "--user-file and --bearer-file exclude each other"),
    ("push --state rpistat.data http://localhost:1", 1, "something else", "--state"),
    ("push --state nosuch/s http://localhost:1", 1, "nosuch"),
    ("push --state s --user-file nosuch http://localhost:1", 1, "nosuch", "the first line"),
    ("check -r 1", 2, "'-r'"),
    ("record --p", 2, "'--p' could be any of --period, --pid, --pmu; write it out"),
    ("export --r x", 2, "--rates, --region, --run"),
    ("phases --m 3", 2, "--metric", "--min-length"),
    ("report -i", 2, "'--input' needs an argument, FILE"),
    ("report --fr", 2, "'--from' needs an argument, T"),
    ("plot --size", 2, "'--size' needs an argument, WxH"),
    ("-e", 2, "'--event' needs an argument, LIST"),
    # recording: what and for how long
    ("record", 2, "no command", "rpistat record --help"),
    ("-q", 2, "no command"),
    ("--", 2, "no command"),
    ("--period 100 ./x", 2, "--period 100: the unit is missing, write 100ms or 100s"),
    ("--period 0.5 ./x", 2, "write 0.5s or 0.5m"),
    ("--period 0 ./x", 2, "--period 0: must be between 1ms and 1h"),
    ("--period -1 ./x", 2, "--period", "1ms"),
    ("--period 1us ./x", 2, "--period", "1us", "1ms"),
    ("--period 2h ./x", 2, "--period", "1h"),
    ("--period abc ./x", 2, "--period abc: not a duration", "100ms"),
    ("--period '' ./x", 2, "--period ''"),
    ("--period '10 ms' ./x", 2, "--period 10 ms: not a duration"),
    ("--duration 10 ./x", 2, "--duration 10: the unit is missing, write 10ms or 10s"),
    ("--duration 0 ./x", 2, "--duration"),
    ("--duration soon ./x", 2, "--duration", "soon"),
    ("--delay 10 ./x", 2, "--delay 10: the unit is missing, write 10ms or 10s"),
    ("--delay off ./x", 2, "--delay off", "--control"),
    ("--commit 5 ./x", 2, "--commit 5: the unit is missing"),
    ("--commit -1 ./x", 2, "--commit"),
    ("--keep 7 ./x", 2, "--keep 7: the unit is missing, write 7m or 7h"),
    ("--keep 5s ./x", 2, "--keep 5s: must be between 1m"),
    ("--max-size 1M ./x", 2, "--max-size", "4M"),
    ("--max-size 10X ./x", 2, "--max-size 10X: not a size", "64M"),
    ("--durability some ./x", 2, "--durability", "some", "normal", "full"),
    ("--order sorted ./x", 2, "--order", "fixed", "random:SEED"),
    ("--order random:x ./x", 2, "--order", "whole number"),
    ("--tag novalue ./x", 2, "--tag", "novalue", "KEY=VALUE"),
    ("--tag =value ./x", 2, "--tag", "KEY=VALUE"),
    ("--label %s ./x" % ("x" * 300), 2, "--label", "300", "255"),
    ("--control here true", 2, "--control", "fifo:PATH"),
    # recording: what is counted
    ("-p firefox", 2, "'firefox' is no number of a process", "pgrep"),
    ("-p 1,", 2, "-p: ''"),
    ("-p 1 -- ./x", 2, "-p records running processes", "leave out the command"),
    ("-p 2147483647", 1, "there is no such process", "pgrep"),
    ("-p 1 -a", 2, "exclude each other"),
    ("-a -G system.slice", 2, "exclude each other"),
    ("-G no-such-group true", 1, "no such control group", "/sys/fs/cgroup"),
    ("-C 65535 true", 1, "CPU 65535 is not online", "/sys/devices/system/cpu/online"),
    ("--repeat 2 -a", 2, "--repeat and -a exclude each other"),
    ("--repeat 0 ./x", 2, "--repeat 0", "between 1 and 1000"),
    ("--warmup 1 -p 1", 2, "--warmup and -p exclude each other"),
    ("--warmup 1 --pmu sim:x", 2, "--warmup: there is no command"),
    ("--alternate ./x -- ./y", 2, "--alternate is of --repeat"),
    ("--repeat 2 --alternate ./x", 2, "two commands with -- between them"),
    ("--repeat 2 --alternate ./x --", 2, "two commands with -- between them"),
    ("--repeat 2 --alternate ./x -a -- ./x -a", 2, "both commands would be labelled 'x'", "--label old,new"),
    ("--repeat 2 --label old --alternate ./x -- ./y", 2, "--label 'old'", "--label old,new"),
    ("-C one true", 2, "-C one: not a whole number"),
    ("-C 3-1 true", 2, "-C: CPUs 3-1 go backwards; write 1-3"),
    ("--pmu nosuch true", 2, "--pmu nosuch", "hardware, software"),
    ("--pmu '' true", 2, "--pmu"),
    ("--signals most ./x", 2, "--signals", "off, tree, machine, package, all"),
    ("--signals tree -a", 2, "whole CPUs have no tree", "--signals machine"),
    ("--signals tree -C 0 ./x", 2, "whole CPUs have no tree", "--signals machine"),
    (SIM + "--signals all", 1, "no system signals can be read: the script says nothing of them"),
    ("--signal-budget 1 ./x", 2, "--signal-budget: '1' is no percentage", "0.1%"),
    ("--signal-budget much% ./x", 2, "--signal-budget", "much"),
    ("--signal-budget 0% ./x", 2, "--signal-budget: '0%'", "between 0.001% and 100%"),
    ("--signal-budget 101% ./x", 2, "--signal-budget: '101%'", "between 0.001% and 100%"),
    ("--pmu sim:", 2, "--pmu sim: needs a script"),
    ("--pmu sim:script.sim ./x", 2, "sim:script.sim", "leave out the command"),
    ("--pmu sim:nosuch.sim", 2, "nosuch.sim", "cannot be opened"),
    ("--pmu sim:bad.sim", 2, "bad.sim:1: expected: phase NAME LENGTH"),
    (SIM + "-e instructons", 2, "\"instructons\"", "did you mean instructions?", "rpistat events"),
    (SIM + "-e instructions,", 2, "before or behind a comma"),
    (SIM + "-e r04 --sets arm1176", 2, "-e and --sets exclude each other"),
    (SIM + "-e no-such:tracepoint", 1, "nothing can be counted", "no-such:tracepoint"),
    (SIM + "-e nosuchpmu/event=1/", 1, "nothing can be counted", "nosuchpmu"),
    (SIM + "--sets nosuch", 2, "\"nosuch\"", "generic", "software", "NAME.ini"),
    (SIM + "--sets nosuch.ini", 2, "nosuch.ini", "rpistat events"),
    (SIM + "--sets bad.ini", 2, "bad.ini:6", "column 5", "called \"b\""),
    (SIM + "--scenario nosuch", 2, "\"nosuch\"", "l1, l2, tlb"),
    (SIM + "--scenario ''", 2, "--scenario"),
    (SIM + "--scenario l2", 2, "nothing for scenario l2", "l2_access", "--sets"),
    (SIM + "--metric ipc", 2, "NAME=FORMULA", "ipc=instructions/clock"),
    (SIM + "--metric page-faults/seconds", 2, "\"page-faults\"; there are clock, seconds, cpu_seconds, "
     "instructions"),
    (SIM + "--metric x=none/clock", 2, "metric x", "\"none\"", "there are clock"),
    (SIM + "--metric x=1/", 2, "column 3", "a number or a name is expected"),
    (SIM + "--metric 'x=(1'", 2, "the parenthesis is not closed"),
    (SIM + "--metric cpi=1", 2, "already a metric called cpi", "another name"),
    # recording: where to
    ("-o - ./x", 2, "-o -", "rpistat export"),
    (SIM + "-o ''", 2, "-o: the text is empty", "leave the option out"),
    (SIM + "-o nosuch/a.data", 1, "no folder 'nosuch'", "make it"),
    (SIM + "-o notes/a.data", 1, "'notes' is no folder"),
    (SIM + "-o folder", 1, "folder/rpistat.data"),
    (SIM + "-o notes", 1, "not an rpistat store"),
    (SIM + "-o foreign.data", 1, "another program's SQLite file", "choose another name"),
    (SIM + "-o newer.data", 1, "newer rpistat"),
    (SIM + "-o pipe", 1, "pipe is not a regular file"),
    # stores and runs
    ("merge", 2, "which store", "rpistat merge other.data'"),
    ("merge -i new.data nosuch.data", 1, "no store nosuch.data"),
    ("merge -i new.data notes", 1, "notes is not an rpistat store"),
    ("merge --format xml rpistat.data", 2, "xml", "text, json, csv"),
    ("runs -i nosuch.data", 1, "no store nosuch.data", "-i FILE"),
    ("runs -i empty.data", 1, "empty.data is empty", "rpistat COMMAND"),
    ("runs -i notes", 1, "notes is not an rpistat store"),
    ("runs -i foreign.data", 1, "another program's SQLite file"),
    ("runs -i newer.data", 1, "newer.data has format", "use the newer rpistat"),
    ("runs -i folder", 1, "folder is a folder", "folder/rpistat.data"),
    ("runs -i pipe", 1, "not a regular file"),
    ("runs -i cut.data", 1, "cut.data is damaged", "rpistat check --repair"),
    ("runs -i ''", 1, "the name of the store is empty"),
    ("plot -i nosuch.data", 1, "no store nosuch.data"),
    ("watch -i nosuch.data", 1, "no store nosuch.data"),
    ("check -i nosuch.data", 1, "no store nosuch.data"),
    ("check -i newer.data", 1, "use the newer rpistat"),
    ("check -i notes", 1, "notes is not an rpistat store"),
    ("compare 1 2 3", 2, "compare takes no argument '3'", "rpistat compare --help"),
    ("compare 1 rnu2", 1, "rnu2: no run of rpistat.data has this label", "did you mean run2?"),
    ("compare 2-1", 2, "runs 2-1 go backwards; write 1-2"),
    ("compare --undecided pass", 2, "--undecided is of --fail-if"),
    ("compare --fail-if 'cpi>+1%' --undecided maybe", 2, "--undecided: 'maybe' is none of pass, fail"),
    ("report -r 99", 1, "run 99: not in rpistat.data, which holds runs 1 to 2", "rpistat runs"),
    ("export -r nosuch", 1, "run nosuch", "runs 1 to 2"),
    ("plot -r last-9", 1, "run last-9"),
    ("phases -r 0", 1, "run 0"),
    ("watch -r 99 --once", 1, "run 99"),
    ("watch x", 2, "'x'", "--on CONDITION"),
    ("watch --on phase", 2, "'phase'", "-- COMMAND"),
    ("watch --on phase:3 -- true", 2, "--on 'phase:3'", "phase:C", "'cpi>1.5'"),
    ("watch --on 'cpi>' -- true", 2, "--on 'cpi>'", "a number"),
    ("watch --until phase", 2, "--until 'phase'", "phase:C"),
    ("watch --until loop", 2, "--until 'loop'", "loop-end"),
    ("watch --until '>3'", 2, "--until '>3'"),
    ("watch --until 'cp>3'", 2, "no metric 'cp'", "did you mean cpi?", "there are cpi, "),
    ("watch --until loop-end --once", 2, "--until", "--once"),
    ("watch --until loop-end --http", 2, "--until", "--http"),
    # parts of a run
    ("report --from 5 --to 5", 2, "--from", "--to", "nothing would be left"),
    ("report --from -5", 2, "--from"),
    ("report --to later", 2, "--to", "later"),
    ("report --from phase:", 2, "phase:B"),
    ("report --from phase:Z", 1, "phase:Z", "phases are A to", "`rpistat phases`"),
    ("export --to phase:A.99", 1, "phase:A.99", "it comes 1 time"),
    ("export --from 1h", 1, "no measurement periods there", "25.0 s long"),
    ("plot --cpu ''", 2, "--cpu", "each", "sum", "0-3"),
    ("report --cpu all", 2, "--cpu", "'all'", "each", "sum"),
    ("report --cpu eachone", 2, "--cpu", "'eachone'"),
    ("export --cpu 3-1", 2, "--cpu", "3-1"),
    ("export --cpu sum,", 2, "--cpu"),
    ("export --cpu sum,each", 2, "--cpu", "each"),
    ("report --cpu 0", 1, "as a whole, not by CPU", "record with -a"),
    # outputs
    ("report -o ''", 2, "-o"),
    ("report -o folder", 1, "'folder': it is a folder"),
    ("export -o nosuch/a.csv", 1, "no folder 'nosuch'", "make it"),
    ("runs -o notes/a.txt", 1, "'notes' is no folder"),
    ("export -o rpistat.data", 2, "the store itself", "choose another file"),
    ("runs -o /dev/full", 1, "/dev/full", "not complete"),
    ("events --sets software -o folder", 1, "it is a folder"),
    # events and verify
    ("events nosuch", 2, "\"nosuch\"", "rpistat events"),
    ("events --sets nosuch", 2, "\"nosuch\"", "generic"),
    ("events --sets nosuch.ini", 2, "nosuch.ini"),
    ("events --pmu nosuch", 2, "--pmu nosuch"),
    ("verify --sets nosuch", 2, "\"nosuch\""),
    ("verify --pmu sim:script.sim", 2, "no such real counters", "auto, hardware or software"),
    ("export --rates -o x.json", 2, "-o x.json", "--format jsonl", "perfetto"),
    # phases
    ("phases --metric nosuch", 2, "'nosuch'", "it has cpi"),
    ("phases --metric cpi,", 2, "--metric", "empty name"),
    ("phases --level none", 2, "--level", "'fine'"),
    ("phases --level 99", 2, "there is no level of 99 phases", "the finest has "),
    ("phases --level 2 --at-most 3", 2, "--level", "--at-most", "one of them"),
    ("phases --at-most none", 2, "--at-most none"),
    ("phases --min-length 1.5", 2, "--min-length", "500ms"),
    ("phases --sensitivity 99", 2, "-12 to 12"),
    ("phases --format xml", 2, "xml", "text", "csv", "json"),
    ("phases --csv nosuch.csv", 1, "cannot read nosuch.csv"),
    ("phases --csv short.csv", 1, "2 rows", "4 at least"),
    ("phases --csv words.csv", 1, "no column of numbers"),
    ("phases --csv rpistat.data", 1, "not a text file"),
    ("phases --csv short.csv --from 1", 2, "a table has no times"),
    ("phases --csv short.csv --metric c", 2, "'c'", "it has a, b"),
    ("phases --separator ';'", 2, "add --csv"),
    # code
    ("code --by nosuch", 2, "'nosuch'", "function, line, module, process, thread"),
    ("code --format xml", 2, "xml", "text, json, csv, markdown, html, folded, pprof, firefox"),
    ("code --tree --by thread", 2, "--tree", "leave out", "--by"),
    ("code --tree --by cgroup", 2, "of functions"),
    ("code --binaries build", 2, "--binaries", "add --resolve"),
    ("code --at-most 0", 2, "--at-most 0"),
    ("code --tree --at-most 3", 2, "--at-most", "--tree"),
    ("code --format folded --by thread", 2, "--format folded", "leave out --by"),
    ("code --format pprof -o x.pb --at-most 3", 2, "--format pprof", "--at-most"),
    ("code --resolve --binaries nosuch", 1, "cannot read 'nosuch'", "No such file"),
    ("compare 1 2 --level 99", 2, "there is no level of 99 phases", "the finest has "),
    ("code B-", 2, "'B-' is no phase", "B.2", "2-4"),
    ("code 4-2", 2, "'4-2' is no phase"),
    ("code B C", 2, "no argument 'C'"),
    ("code", 1, "has no samples of its code", "--no-samples"),
    ("export --format folded", 1, "has no samples of its code", "--no-samples"),
    ("export --format pprof --rates -o x.pb", 2, "pprof", "leave out", "--rates"),
    ("export --format xml", 2, "xml", "openmetrics, line-protocol, signals, perfetto, folded, pprof, firefox, jsonl"),
    # pictures
    ("plot --x miles", 2, "--x", "miles", "time", "cycles"),
    ("plot --kind pie", 2, "'pie'", "time, turn, phases, scatter, heat, pca"),
    ("plot --theme blue", 2, "light", "dark"),
    ("plot --metric nosuch -o x.svg", 2, "'nosuch'", "there are cpi"),
    ("plot --kind scatter --metric cpi -o x.svg", 2, "needs two metrics"),
    ("plot --panel nosuch -o x.svg", 2, "'nosuch'", "Cycles per instruction"),
    ("plot --panel ''", 2, "--panel"),
    ("plot --size 10x10", 2, "--size", "10x10", "320x240", "1200x900"),
    ("plot --size 99999x800", 2, "--size", "16384"),
    ("plot --size 800", 2, "--size", "1200x900"),
    ("plot --size 800x600x400", 2, "--size"),
    ("plot --size x600", 2, "--size"),
    ("plot -o - --size 5x5", 2, "--size", "characters", "as in 100x30"),
    ("plot -o picture.doc", 2, "picture.doc", ".png, .svg, .pdf or .html"),
    ("plot --keep ''", 2, "--keep"),
    ("plot --keep notes -o x.svg", 1, "notes", "--keep"),
    ("plot --keep nosuch/x -o x.svg", 1, "nosuch/x", "--keep"),
    ("plot -o rpistat.data", 2, "the store itself"),
    ("watch --every 1ms", 2, "--every 1ms: must be between 200ms"),
    ("watch --last 10", 2, "--last 10: the unit is missing, write 10s or 10m"),
    ("watch --plot x.doc --once", 2, "x.doc", ".png"),
    # tables
    ("export --format full", 2, "full", "wide", "jsonl"),
    ("import", 2, "name the file"),
    ("import nosuch.csv", 1, "nosuch.csv", "No such file"),
    ("import --format xml script.sim", 2, "xml", "perf-csv", "csv"),
    ("import --map x=y table.csv", 2, "--map", "y", "gauge"),
    ("import --start soon script.sim", 2, "--start", "soon", "14:30"),
    ("import --tag a script.sim", 2, "--tag", "KEY=VALUE"),
    ("import -o - script.sim", 2, "-o -", "name one"),
    ("export --format xml", 2, "xml", "wide", "rates", "long"),
    ("export --format table --every 1s", 2, "--format table", "leave out --every"),
    ("export --format table --rates", 2, "--format table", "--rates"),
    ("export --format long-rates --every 1s", 2, "--every", "leave out --long"),
    ("export --separator ab", 2, "--separator: 'ab' is none of", "tab"),
    ("export --separator 5", 2, "--separator"),
    ("export --separator ''", 2, "--separator"),
    ("export --separator '\"'", 2, "--separator"),
    ("export --decimal ';'", 2, "--decimal: ';' is none of . ,"),
    ("export --decimal ,", 2, "','", "--separator"),
    ("export --decimal , --separator ,", 2, "','"),
    # changing runs
    ("runs --delete 1 --set-label x", 2, "--delete", "label"),
    ("runs --tag x", 2, "--tag", "'x'", "KEY=VALUE"),
    ("runs --set-tag =x", 2, "--set-tag", "'=x'", "KEY=VALUE"),
    ("runs --set-label %s" % ("x" * 256), 2, "--set-label", "256"),
    # repair
    ("runs --since yesterday", 2, "--since", "'yesterday' is no time", "2d"),
    ("runs --until 2026-11-31", 2, "--until", "2026-11-31"),
    ("runs --sort colour", 2, "--sort", "'colour' is none of the columns run label"),
    ("runs --delete --host nowhere", 1, "has no such run; nothing was changed"),
    ("status 3", 2, "status takes no argument '3'", "rpistat status --help"),
    ("status --format xml", 2, "--format", "'xml'", "json"),
    ("status -i rpistat.data", 2, "'-i'", "rpistat status --help"),
    ("stop", 2, "which run?", "--all", "rpistat status"),
    ("stop 3 4", 2, "stop takes no argument '4'"),
    ("stop --all 3", 2, "--all", "leave out '3'"),
    ("stop --timeout soon 3", 2, "--timeout", "soon"),
    ("stop no such label", 2, "'label'"),
    ("stop -i none.data 3", 1, "cannot look at the store none.data"),
    ("stop -i rpistat.data 1", 1, "run 1", "not recorded any more: it is complete"),
    ("stop -i rpistat.data 9", 1, "run 9: not in rpistat.data, which holds runs 1 to 2"),
    ("check --repair", 2, "-o FILE"),
    ("check --repair -o notes", 1, "notes is there already"),
    ("check --repair -o nosuch/a.data", 1, "nosuch/a.data", "another place"),
    ("check --repair -o rpistat.data", 2, "the store itself"),
    ("check --repair -i notes -o new.data", 1, "nothing of notes can be read"),
]

FOLDER = Folder(runs=2)


def prepare():
    """Files that nobody should take for a store, a table, a document or a program."""
    FOLDER.write("notes", "dear diary\n")
    FOLDER.write("table.csv", "t,x\n1,2\n")
    FOLDER.write("mine", "#!/bin/sh\n", 0o755)
    FOLDER.write("empty.data", "")
    FOLDER.write("bad.sim", "phase nosuch\n")
    FOLDER.write("bad.ini", "[event a]\nevent = r07\n[set s]\nevents = a\n[metric m]\nformula = a / b\n")
    FOLDER.write("short.csv", "a,b\n1,2\n3,4\n")
    FOLDER.write("words.csv", "name\n" + "x\ny\n" * 9)
    os.mkdir(FOLDER / "folder")
    os.mkfifo(FOLDER / "pipe")
    for name, sql in (("foreign.data", "CREATE TABLE t (a)"), ("newer.data", "PRAGMA user_version = 9999"),
                      ("cut.data", "")):
        if name != "foreign.data":
            shutil.copy(FOLDER / "rpistat.data", FOLDER / name)
        store = sqlite3.connect(FOLDER / name)
        store.execute("PRAGMA journal_mode = DELETE")
        store.execute(sql)
        store.commit()
        store.close()
    os.truncate(FOLDER / "cut.data", 30000)


def check(typed, status, *words):
    before = sorted(os.listdir(FOLDER.path))
    refused(FOLDER.call(*shlex.split(typed)), status, *words)
    assert sorted(os.listdir(FOLDER.path)) == before, "files were left behind"


def test_table():
    """the table has 120 rows and more, and each command has its share"""
    assert len(MISTAKES) >= 120, len(MISTAKES)
    for command in COMMANDS:
        assert sum(typed.split()[0] == command for typed, *_ in MISTAKES) >= 3, command


def test_help():
    """`rpistat help` is --help, `rpistat help plot` the help of plot, and a program called help wins"""
    assert expect(FOLDER.call("help"), 0).stdout == call("--help").stdout
    assert expect(FOLDER.call("help", "plot"), 0).stdout == call("plot", "--help").stdout
    assert expect(FOLDER.call("help", "help"), 0).stdout == call("--help").stdout
    with Folder() as folder:
        folder.write("help", "#!/bin/sh\necho it is me\n", 0o755)
        path = environment(PATH=folder.path + ":" + os.environ["PATH"])
        assert "Usage" not in folder.call("help", env=path).stdout


def test_programs_win():
    """a program in PATH is recorded, however much its name is like a command's or another tool's"""
    with Folder() as folder:
        for name in ("plots", "list", "stat"):
            folder.write(name, "#!/bin/sh\necho ran $0\n", 0o755)
            path = environment(PATH=folder.path + ":" + os.environ["PATH"])
            answer = folder.call("-q", "--pmu", "nosuch", name, env=path)
            refused(answer, 2, "--pmu nosuch")  # the program was found, and all else was right


def test_scenario_without_counters():
    """--scenario where the processor's counters cannot be used: says so, and what to do"""
    if expect(call("events"), 0).stdout.split("\n")[1].split()[1] == "yes":
        raise tap.Skip("this machine has hardware counters")
    answer = call("record", "--scenario", "l1", "true")
    if "nothing can be counted" in answer.stderr:
        raise tap.Skip("nothing can be counted here: " + answer.stderr)
    refused(answer, 2, "--scenario l1: the processor's counters cannot be used", "leave it out")


def test_cpu_each():
    """--cpu each of a run without CPUs shows the run, and says once that it was counted as a whole"""
    for command in (["report"], ["phases"], ["plot", "-o", "-"], ["export"]):
        told = expect(FOLDER.call(*command, "--cpu", "each"), 0)
        assert told.stderr.count("\n") == 1 and "as a whole, not by CPU" in told.stderr, told.stderr
        quiet = expect(FOLDER.call(*command, "--cpu", "each", "-q"), 0)
        assert not quiet.stderr and quiet.stdout == told.stdout, quiet
    assert not expect(FOLDER.call("export"), 0).stderr


def test_control_characters():
    """control characters of an argument do not reach the terminal"""
    answer = refused(call("report", "--bo\033[31mgus\n"), 2)
    assert "\033" not in answer.stderr, answer.stderr


def test_order():
    """a mistake is found before anything is opened: no store is needed for it to be told"""
    with Folder() as folder:
        for command in COMMANDS:
            refused(folder.call(command, "--nonsense", "x"), 2, "'--nonsense'")


def test_help_wins():
    """--help before a mistake is still help"""
    expect(call("report", "--help", "--nonsense"), 0)


with FOLDER:
    prepare()
    tap.main([("refused: " + row[0][:60], check, *row) for row in MISTAKES] +
             [test_table, test_help, test_programs_win, test_scenario_without_counters, test_cpu_each,
              test_control_characters, test_order, test_help_wins])
