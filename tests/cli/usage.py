"""Wrong command lines: one sentence on standard error with what failed, the object, and what to do;
status 2 for wrong usage, 1 for failures, 126 and 127 for a workload that cannot be executed or
found. Standard output is empty, and no file is left behind.
"""
import os
import shlex
import shutil
import sqlite3

from program import COMMANDS, Folder, call, environment, expect, refused, tap

SIM = "record --pmu sim:script.sim "

# The call as typed in a shell, its status, and parts of the message.
MISTAKES = [
    # names
    ("plots", 127, "plots: command not found", "did you mean plot?", "`rpistat help`"),
    ("reprot -o x.txt", 127, "did you mean report?"),
    ("list", 127, "did you mean runs?"),
    ("stats", 127, "did you mean report?"),
    ("-q graph", 127, "did you mean plot?"),
    ("-q runs", 127, "runs: command not found", "write it first", "rpistat runs"),
    ("version", 127, "did you mean --version?"),
    ("helpp", 127, "did you mean help?"),
    ("mine", 127, "did you mean ./mine?"),
    ("no-such-program -x", 127, "command not found in PATH", "`rpistat help`"),
    ("record no-such-program", 127, "no directory of PATH has it", "./NAME"),
    ("./no-such-program", 127, "./no-such-program: command not found: no such file; check its path"),
    ("notes/x", 127, "a part of its path is not a directory"),
    ("''", 127, "its name is empty"),
    ("./notes", 126, "./notes: permission denied", "not an executable file"),
    ("./folder", 126, "is a directory"),
    ("help nosuch", 2, "no command 'nosuch'", "`rpistat help`"),
    ("help list", 2, "no command 'list'; did you mean runs?"),
    ("report plot", 2, "report takes no argument 'plot'", "one command at a time"),
    ("runs report", 1, "run report is not in rpistat.data"),
    ("report rpistat.data", 2, "'rpistat.data'", "a store with -i"),
    ("report 2", 2, "takes no argument '2'", "name a run with -r"),
    ("export new.csv", 2, "takes no argument 'new.csv'", "the output file with -o"),
    ("runs empty.data", 1, "'empty.data' is a file, not a run", "-i empty.data"),
    ("compare newer.data rpistat.data", 1, "'newer.data' is a file, not a run", "rpistat merge newer.data`"),
    ("explain script.sim --from 1s", 1, "'script.sim' is a file, not a run"),
    ("plot x.svg", 2, "'x.svg'", "rpistat plot --help"),
    ("check rpistat.data", 2, "name a store with -i"),
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
    ("report --rates", 2, "'--rates'", "`rpistat export` has it"),
    ("runs --explain", 2, "has it; see `rpistat runs --help`"),
    ("events -i rpistat.data", 2, "'-i'", "rpistat events --help"),
    ("watch --from 5s", 2, "'--from'", "rpistat watch --help"),
    ("push --state s", 2, "name its URL"),
    ("push --state s ftp://localhost", 2, "Unsupported URL scheme", "http://HOST:8428"),
    ("push --state s http://localhost:x", 2, "Port number"),
    ("push --state s --again http://localhost", 2, "--again", "twice", "--yes"),
    ("push --every 5ms http://localhost:1", 2, "--every 5ms", "10ms"),
    ("push --all -r 1 http://localhost:1", 2, "--all and -r exclude each other; leave one of them out"),
    ("push --user-file a --bearer-file b http://localhost:1", 2, "--user-file and --bearer-file exclude each other"),
    ("push --state rpistat.data http://localhost:1", 1, "is not a list of pushed samples", "--state"),
    ("push --state nosuch/s http://localhost:1", 1, "nosuch"),
    ("push --state s --user-file nosuch http://localhost:1", 1, "nosuch", "the first line"),
    ("check -r 1", 2, "'-r'"),
    ("record --p", 2, "'--p' is ambiguous: --period, --prepare, --pid, --pmu; write it in full"),
    ("export --r x", 2, "--rates, --region, --run"),
    ("phases --m 3", 2, "--metric", "--min-length"),
    ("report -i", 2, "'--input' needs an argument, FILE"),
    ("report --fr", 2, "'--from' needs an argument, T"),
    ("plot --size", 2, "'--size' needs an argument, WxH"),
    ("-e", 2, "'--event' needs an argument, LIST"),
    # recording: the object and the duration
    ("record", 2, "no command", "rpistat record --help"),
    ("-q", 2, "no command"),
    ("--", 2, "no command"),
    ("--period 100 ./x", 2, "--period 100: the unit is missing; write 100ms or 100s"),
    ("--period 0.5 ./x", 2, "write 0.5s or 0.5m"),
    ("--period 0 ./x", 2, "--period 0: must be between 1ms and 1h"),
    ("--period -1 ./x", 2, "--period", "1ms"),
    ("--period 1us ./x", 2, "--period", "1us", "1ms"),
    ("--period 2h ./x", 2, "--period", "1h"),
    ("--period abc ./x", 2, "--period abc: not a duration", "100ms"),
    ("--period '' ./x", 2, "--period ''"),
    ("--period '10 ms' ./x", 2, "--period 10 ms: not a duration"),
    ("--duration 10 ./x", 2, "--duration 10: the unit is missing; write 10ms or 10s"),
    ("--duration 0 ./x", 2, "--duration"),
    ("--duration soon ./x", 2, "--duration", "soon"),
    ("--delay 10 ./x", 2, "--delay 10: the unit is missing; write 10ms or 10s"),
    ("--delay off ./x", 2, "--delay off", "--control"),
    ("--commit 5 ./x", 2, "--commit 5: the unit is missing"),
    ("--commit -1 ./x", 2, "--commit"),
    ("--keep 7 ./x", 2, "--keep 7: the unit is missing; write 7m or 7h"),
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
    # recording: events
    ("-p firefox", 2, "'firefox' is not a process number", "pgrep"),
    ("-p 1,", 2, "-p: ''"),
    ("-p 1 -- ./x", 2, "-p records running processes", "leave out the command"),
    ("-p 2147483647", 1, "no such process", "pgrep"),
    ("-p 1 -a", 2, "exclude each other"),
    ("-a -G system.slice", 2, "exclude each other"),
    ("-G no-such-group true", 1, "no such control group", "/sys/fs/cgroup"),
    ("-C 65535 true", 1, "CPU 65535 is not online", "/sys/devices/system/cpu/online"),
    ("--repeat 2 -a", 2, "--repeat and -a exclude each other"),
    ("--repeat 0 ./x", 2, "--repeat 0", "between 1 and 1000"),
    ("--warmup 1 -p 1", 2, "--warmup and -p exclude each other"),
    ("--warmup 1 --pmu sim:x", 2, "--warmup needs a command"),
    ("--prepare true -p 1", 2, "--prepare and -p exclude each other"),
    ("--prepare true --pmu sim:x", 2, "--prepare needs a command"),
    ("--alternate ./x -- ./y", 2, "--alternate belongs to --repeat"),
    ("--repeat 2 --alternate ./x", 2, "two commands with -- between them"),
    ("--repeat 2 --alternate ./x --", 2, "two commands with -- between them"),
    ("--repeat 2 --alternate ./x -a -- ./x -a", 2, "both commands would have the label 'x'", "--label old,new"),
    ("--repeat 2 --label old --alternate ./x -- ./y", 2, "--label 'old'", "--label old,new"),
    ("-C one true", 2, "-C one: not a whole number"),
    ("-C 3-1 true", 2, "-C: the range of CPUs 3-1 is reversed; write 1-3"),
    ("--pmu nosuch true", 2, "--pmu nosuch", "hardware, software"),
    ("--pmu '' true", 2, "--pmu"),
    ("--system-metrics most ./x", 2, "--system-metrics", "off, tree, machine, package, all"),
    ("--system-metrics tree -a", 2, "whole CPUs have no tree", "--system-metrics machine"),
    ("--system-metrics tree -C 0 ./x", 2, "whole CPUs have no tree", "--system-metrics machine"),
    (SIM + "--system-metrics all", 1, "cannot read system metrics: the script has no system metrics"),
    ("--system-metrics-budget 1 ./x", 2, "--system-metrics-budget: '1' is not a percentage", "0.1%"),
    ("--system-metrics-budget much% ./x", 2, "--system-metrics-budget", "much"),
    ("--system-metrics-budget 0% ./x", 2, "--system-metrics-budget: '0%'", "write 0.001% to 100%"),
    ("--system-metrics-budget 101% ./x", 2, "--system-metrics-budget: '101%'", "write 0.001% to 100%"),
    ("--pmu sim:", 2, "--pmu sim needs a script"),
    ("--pmu sim:script.sim ./x", 2, "sim:script.sim", "leave out the command"),
    ("--pmu sim:nosuch.sim", 2, "nosuch.sim", "cannot open the simulation script"),
    ("--pmu sim:bad.sim", 2, "bad.sim:1: expected: phase NAME LENGTH"),
    (SIM + "-e instructons", 2, "\"instructons\"", "did you mean instructions?", "rpistat events"),
    (SIM + "-e instructions,", 2, "before or after a comma"),
    (SIM + "-e r04 --sets arm1176", 2, "-e and --sets exclude each other"),
    (SIM + "-e no-such:tracepoint", 1, "nothing can be counted", "no-such:tracepoint"),
    (SIM + "-e nosuchpmu/event=1/", 1, "nothing can be counted", "nosuchpmu"),
    (SIM + "--sets nosuch", 2, "\"nosuch\"", "generic", "software", "NAME.ini"),
    (SIM + "--sets nosuch.ini", 2, "nosuch.ini", "rpistat events"),
    (SIM + "--sets bad.ini", 2, "bad.ini:6", "column 5", "nothing named \"b\" is counted"),
    (SIM + "--scenario nosuch", 2, "\"nosuch\"", "l1, l2, tlb"),
    (SIM + "--scenario ''", 2, "--scenario"),
    (SIM + "--scenario l2", 2, "no events for scenario l2", "l2_access", "--sets"),
    (SIM + "--metric ipc", 2, "NAME=FORMULA", "ipc=instructions/clock"),
    (SIM + "--metric page-faults/seconds", 2, "\"page-faults\" is counted; choose from clock, seconds, cpu_seconds, "
     "instructions"),
    (SIM + "--metric x=none/clock", 2, "metric x", "\"none\"", "choose from clock"),
    (SIM + "--metric x=1/", 2, "column 3", "a number or a name is expected"),
    (SIM + "--metric 'x=(1'", 2, "the parenthesis is not closed"),
    (SIM + "--metric cpi=1", 2, "already a metric named cpi", "another name"),
    # recording: the output
    ("-o - ./x", 2, "-o -", "rpistat export"),
    (SIM + "-o ''", 2, "-o: the text is empty", "leave the option out"),
    (SIM + "-o nosuch/a.data", 1, "'nosuch/a.data'", "the directory 'nosuch' does not exist", "create it"),
    (SIM + "--repeat 2 -o nosuch/a.data", 1, "'nosuch/a.data'", "the directory 'nosuch' does not exist"),
    (SIM + "-o notes/a.data", 1, "'notes/a.data'", "'notes' is not a directory"),
    (SIM + "-o folder", 1, "folder/rpistat.data"),
    (SIM + "-o notes", 1, "not an rpistat store"),
    (SIM + "-o foreign.data", 1, "another program that uses SQLite", "choose another name"),
    (SIM + "-o newer.data", 1, "newer rpistat"),
    (SIM + "-o pipe", 1, "pipe is not a regular file"),
    # stores and runs
    ("merge", 2, "no store to merge", "rpistat merge other.data`"),
    ("merge -i new.data nosuch.data", 1, "no store nosuch.data"),
    ("merge -o left.txt -i new.data nosuch.data", 1, "no store nosuch.data"),
    ("merge -i nosuch/a.data rpistat.data", 1, "store nosuch/a.data", "directory nosuch does not exist", "create it"),
    ("merge -i notes/a.data rpistat.data", 1, "store notes/a.data", "notes is not a directory"),
    ("merge -i new.data notes", 1, "notes is not an rpistat store"),
    ("merge --format xml rpistat.data", 2, "xml", "text, json, csv"),
    ("runs -i nosuch.data", 1, "no store nosuch.data", "-i FILE"),
    ("runs -i empty.data", 1, "empty.data is empty", "rpistat COMMAND"),
    ("runs -i notes", 1, "notes is not an rpistat store"),
    ("runs -i foreign.data", 1, "another program that uses SQLite"),
    ("runs -i newer.data", 1, "newer.data has format", "use a newer rpistat"),
    ("runs -i folder", 1, "folder is a directory", "folder/rpistat.data"),
    ("runs -i pipe", 1, "not a regular file"),
    ("runs -i cut.data", 1, "cut.data is damaged", "rpistat check --repair"),
    ("runs -i ''", 1, "the name of the store is empty"),
    ("plot -i nosuch.data", 1, "no store nosuch.data"),
    ("watch -i nosuch.data", 1, "no store nosuch.data"),
    ("check -i nosuch.data", 1, "no store nosuch.data"),
    ("check -i newer.data", 1, "use a newer rpistat"),
    ("check -i notes", 1, "notes is not an rpistat store"),
    ("compare 1 2 3", 2, "compare takes no argument '3'", "rpistat compare --help"),
    ("compare 1 rnu2", 1, "rnu2: no run of rpistat.data has this label", "did you mean run2?"),
    ("history", 2, "no runs are named; name a label, a tag, or runs such as 1-40"),
    ("history rnu2", 1, "rnu2: no run of rpistat.data has this label", "did you mean run2?"),
    ("history run2", 1, "run2: 1 run ended without error", "record at least 6 runs"),
    ("history 1-9 elapse", 2, "no metric 'elapse'", "choose from elapsed, "),
    ("compare 2-1", 2, "the range 2-1 is reversed; write 1-2"),
    ("compare --inconclusive pass", 2, "--inconclusive belongs to --fail-if"),
    ("compare --fail-if 'cpi>+1%' --inconclusive maybe", 2, "--inconclusive: 'maybe' is unknown; write one of pass, fail"),
    ("report -r 99", 1, "run 99 is not in rpistat.data, which has runs 1 to 2", "rpistat runs"),
    ("export -r nosuch", 1, "run nosuch", "runs 1 to 2"),
    ("plot -r last-9", 1, "run last-9"),
    ("phases -r 0", 1, "run 0"),
    ("watch -r 99 --once", 1, "run 99"),
    ("watch x", 2, "'x'", "--on phase"),
    ("watch --on phase", 2, "'phase'", "-- COMMAND"),
    ("watch --on phase:3 -- true", 2, "--on 'phase:3'", "phase:C", "'cpi>1.5'"),
    ("watch --on 'cpi>' -- true", 2, "--on 'cpi>'", "a number"),
    ("watch --until phase", 2, "--until 'phase'", "phase:C"),
    ("watch --until loop", 2, "--until 'loop'", "loop-end"),
    ("watch --until '>3'", 2, "--until '>3'"),
    ("watch --until 'cp>3'", 2, "no metric 'cp'", "did you mean cpi?", "choose from cpi, "),
    ("watch --until loop-end --once", 2, "--until", "--once"),
    ("watch --until loop-end --http", 2, "--until", "--http"),
    # parts of a run
    ("report --from 5 --to 5", 2, "--from", "--to", "--from must be before --to"),
    ("report --from -5", 2, "--from"),
    ("report --to later", 2, "--to", "later"),
    ("report --from phase:", 2, "phase:B"),
    ("report --from phase:Z", 1, "phase:Z", "choose a phase from A to", "`rpistat phases`"),
    ("export --to phase:A.99", 1, "phase:A.99", "1 phase of this class"),
    ("export --from 1h", 1, "no measurement periods in this range", "within its 25.0 s"),
    ("plot --cpu ''", 2, "--cpu", "each", "sum", "0-3"),
    ("report --cpu all", 2, "--cpu", "'all'", "each", "sum"),
    ("report --cpu eachone", 2, "--cpu", "'eachone'"),
    ("export --cpu 3-1", 2, "--cpu", "3-1"),
    ("export --cpu sum,", 2, "--cpu"),
    ("export --cpu sum,each", 2, "--cpu", "each"),
    ("report --cpu 0", 1, "was not counted per CPU", "record with -a"),
    # outputs
    ("report -o ''", 2, "-o"),
    ("report -o folder", 1, "'folder': it is a directory"),
    ("export -o nosuch/a.csv", 1, "the directory 'nosuch' does not exist", "create it"),
    ("runs -o notes/a.txt", 1, "'notes' is not a directory"),
    ("export -o rpistat.data", 2, "is also the input", "choose another file"),
    ("runs -o /dev/full", 1, "/dev/full", "incomplete"),
    ("events --sets software -o folder", 1, "it is a directory"),
    # events and verify
    ("events nosuch", 2, "\"nosuch\"", "rpistat events"),
    ("events -o left.txt nosuch", 2, "\"nosuch\""),
    ("events --sets nosuch", 2, "\"nosuch\"", "generic"),
    ("events --sets nosuch.ini", 2, "nosuch.ini"),
    ("events --pmu nosuch", 2, "--pmu nosuch"),
    ("verify --sets nosuch", 2, "\"nosuch\""),
    ("verify --pmu sim:script.sim", 2, "has no real counters", "auto, hardware or software"),
    ("export --rates -o x.json", 2, "-o x.json", "--format jsonl", "perfetto"),
    # phases
    ("phases --metric nosuch", 2, "'nosuch'", "choose from cpi"),
    ("phases --metric cpi,", 2, "--metric", "empty name"),
    ("phases --level none", 2, "--level", "or 'fine'"),
    ("phases --level 99", 2, "no level has 99 phases", "choose at most "),
    ("phases --level 2 --at-most 3", 2, "--level", "--at-most", "one of them"),
    ("phases --at-most none", 2, "--at-most none"),
    ("phases --min-length 1.5", 2, "--min-length", "500ms"),
    ("phases --sensitivity 99", 2, "-12 to 12"),
    ("phases --format xml", 2, "xml", "text", "csv", "json"),
    ("phases --csv nosuch.csv", 1, "cannot open nosuch.csv"),
    ("phases --csv short.csv", 1, "2 rows", "at least 4"),
    ("phases --csv words.csv", 1, "no column of measured values"),
    ("phases --csv rpistat.data", 1, "rpistat.data is a store", "rpistat merge"),
    ("phases --csv short.csv --from 1", 2, "a table has no times"),
    ("phases --csv short.csv --metric c", 2, "'c'", "choose from a, b"),
    ("phases --separator ';'", 2, "add --csv"),
    # code
    ("explain", 1, "the time range is the whole of run 2", "choose a part with --from and --to"),
    ("explain 1 2 --from 1s --to 2s", 2, "takes no argument '2'", "name one run"),
    ("explain 1 -r 1 --from 1s --to 2s", 2, "'1' and -r both name a run", "leave one"),
    ("explain --from 5s --to 4s", 2, "--from must be before --to"),
    ("explain --from 1h --to 2h", 1, "time range: run 2 has no measurement periods", "choose a longer one within its"),
    ("explain --from 1s --to 2s --against 3s", 2, "--against: '3s' is not a time range", "10s,20s"),
    ("explain --from 1s --to 2s --against 4s,3s", 2, "--against 4s,3s", "--from must be before --to"),
    ("explain --from 1s --to 2s --against x,3s", 2, "'x' is not a time"),
    ("explain --from 1s --to 3s --against 2s,4s", 1, "the time ranges overlap"),
    ("explain --from 1s --to 3s --against 1h,2h", 1, "other time range: run 2 has no measurement periods"),
    ("code --by nosuch", 2, "'nosuch'", "function, line, module, process, thread"),
    ("code --format xml", 2, "xml", "text, json, csv, markdown, html, folded, pprof"),
    ("code --format firefox", 2, "'firefox' was removed", "export --format perfetto"),
    ("code --tree --by thread", 2, "--tree", "leave out", "--by"),
    ("code --tree --by cgroup", 2, "shows functions"),
    ("code --binaries build", 2, "--binaries", "add --resolve"),
    ("code --at-most 0", 2, "--at-most 0"),
    ("code --tree --at-most 3", 2, "--at-most", "--tree"),
    ("code --format folded --by thread", 2, "--format folded", "leave out --by"),
    ("code --format pprof -o x.pb --at-most 3", 2, "--format pprof", "--at-most"),
    ("code --resolve --binaries nosuch", 1, "cannot read 'nosuch'", "No such file"),
    ("compare 1 2 --level 99", 2, "no level has 99 phases", "choose at most "),
    ("code B-", 2, "'B-' is not a phase", "B.2", "2-4"),
    ("code 4-2", 2, "'4-2' is not a phase"),
    ("code B C", 2, "no argument 'C'"),
    ("code", 1, "has no samples", "--no-samples"),
    ("export --format folded", 1, "has no samples", "--no-samples"),
    ("export --format pprof --rates -o x.pb", 2, "pprof", "leave out", "--rates"),
    ("export --format xml", 2, "xml", "openmetrics, line-protocol, signals, perfetto, folded, pprof, jsonl"),
    ("export --format firefox", 2, "'firefox' was removed", "export --format perfetto"),
    ("export --clock=noon", 2, "'noon'", "offset, local"),
    ("export --format perfetto --explain", 2, "leave out", "--explain"),
    # pictures
    ("plot --x-axis miles", 2, "--x-axis", "miles", "time", "cycles"),
    ("plot --kind pie", 2, "'pie'", "time, turn, phases, scatter, heat, pca"),
    ("plot --theme blue", 2, "light", "dark"),
    ("plot --metric nosuch -o x.svg", 2, "'nosuch'", "choose from cpi"),
    ("plot --kind scatter --metric cpi -o x.svg", 2, "needs two metrics"),
    ("plot --panel nosuch -o x.svg", 2, "'nosuch'", "Cycles per instruction"),
    ("plot --panel ''", 2, "--panel"),
    ("plot --size 10x10", 2, "--size", "10x10", "320x240", "1200x900"),
    ("plot --size 99999x800", 2, "--size", "16384"),
    ("plot --size 800", 2, "--size", "1200x900"),
    ("plot --size 800x600x400", 2, "--size"),
    ("plot --size x600", 2, "--size"),
    ("plot -o - --size 5x5", 2, "--size", "characters", "write one like 100x30"),
    ("plot -o picture.doc", 2, "picture.doc", ".png, .svg, .pdf or .html"),
    ("plot --keep-script ''", 2, "--keep-script"),
    ("plot --keep-script notes -o x.svg", 1, "notes", "--keep-script"),
    ("plot --keep-script nosuch/x -o x.svg", 1, "nosuch/x", "--keep-script"),
    ("plot -o rpistat.data", 2, "is also the input"),
    ("watch --every 1ms", 2, "--every 1ms: must be between 200ms"),
    ("watch --last 10", 2, "--last 10: the unit is missing; write 10s or 10m"),
    ("watch --plot x.doc --once", 2, "x.doc", ".png"),
    # tables
    ("export --format full", 2, "full", "wide", "jsonl"),
    ("import", 2, "name one"),
    ("import nosuch.csv", 1, "nosuch.csv", "No such file"),
    ("import --format xml script.sim", 2, "xml", "perf-csv", "csv"),
    ("import --map x=y table.csv", 2, "--map", "y", "gauge"),
    ("import --start soon script.sim", 2, "--start", "soon", "14:30"),
    ("import --tag a script.sim", 2, "--tag", "KEY=VALUE"),
    ("import -o nosuch/a.data table.csv", 1, "store nosuch/a.data", "directory nosuch does not exist", "create it"),
    ("import -o - script.sim", 2, "-o -", "name a file"),
    ("export --format xml", 2, "xml", "wide", "rates", "long"),
    ("export --format table --every 1s", 2, "--format table", "leave out --every"),
    ("export --format table --rates", 2, "--format table", "--rates"),
    ("export --format long-rates --every 1s", 2, "--every", "leave out --long"),
    ("export --separator ab", 2, "--separator: 'ab' is unknown; write one of", "tab"),
    ("export --separator 5", 2, "--separator"),
    ("export --separator ''", 2, "--separator"),
    ("export --separator '\"'", 2, "--separator"),
    ("export --decimal ';'", 2, "--decimal: ';' is unknown; write one of . ,"),
    ("export --decimal ,", 2, "','", "--separator"),
    ("export --decimal , --separator ,", 2, "','"),
    # changing runs
    ("runs --delete 1 --set-label x", 2, "--delete", "label"),
    ("runs --tag x", 2, "--tag", "'x'", "KEY=VALUE"),
    ("runs --set-tag =x", 2, "--set-tag", "'=x'", "KEY=VALUE"),
    ("runs --set-label %s" % ("x" * 256), 2, "--set-label", "256"),
    # repair
    ("runs --since yesterday", 2, "--since", "'yesterday' is not a time", "2d"),
    ("runs --until 2026-11-31", 2, "--until", "2026-11-31"),
    ("runs --sort colour", 2, "--sort", "'colour' is not a column; choose from run label"),
    ("runs --delete --host nowhere", 1, "has no such run, so nothing was changed; see `rpistat runs`"),
    ("status 3", 2, "status takes no argument '3'", "rpistat status --help"),
    ("status --format xml", 2, "--format", "'xml'", "json"),
    ("status -i rpistat.data", 2, "'-i'", "rpistat status --help"),
    ("stop", 2, "no run to stop", "--all", "rpistat status"),
    ("stop 3 4", 2, "stop takes no argument '4'"),
    ("stop --all 3", 2, "--all", "leave out '3'"),
    ("stop --timeout soon 3", 2, "--timeout", "soon"),
    ("stop no such label", 2, "'label'"),
    ("stop -i none.data 3", 1, "cannot find the store none.data"),
    ("stop -i rpistat.data 1", 1, "run 1", "not being recorded any more: it is complete"),
    ("stop -i rpistat.data 9", 1, "run 9 is not in rpistat.data, which has runs 1 to 2"),
    ("check --repair", 2, "-o FILE"),
    ("check --repair -o notes", 1, "notes exists; name a new file"),
    ("check --repair -o nosuch/a.data", 1, "store nosuch/a.data", "directory nosuch does not exist", "create it"),
    ("check --repair -o rpistat.data", 2, "is also the input"),
    ("check --repair -i notes -o new.data", 1, "nothing in notes can be read"),
]

FOLDER = Folder(runs=2)


def prepare():
    """Files that must not be accepted as a store, a table, a document or a program."""
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
    """the table has at least 120 rows, with some for each command"""
    assert len(MISTAKES) >= 120, len(MISTAKES)
    for command in COMMANDS:
        assert sum(typed.split()[0] == command for typed, *_ in MISTAKES) >= 3, command


def test_help():
    """`rpistat help` is --help, `rpistat help plot` the help of plot; a program called help has priority"""
    assert expect(FOLDER.call("help"), 0).stdout == call("--help").stdout
    assert expect(FOLDER.call("help", "plot"), 0).stdout == call("plot", "--help").stdout
    assert expect(FOLDER.call("help", "help"), 0).stdout == call("--help").stdout
    with Folder() as folder:
        folder.write("help", "#!/bin/sh\necho it is me\n", 0o755)
        path = environment(PATH=folder.path + ":" + os.environ["PATH"])
        assert "Usage" not in folder.call("help", env=path).stdout


def test_programs_win():
    """a program in PATH is recorded, even if its name resembles a command or another tool"""
    with Folder() as folder:
        for name in ("plots", "list", "stat"):
            folder.write(name, "#!/bin/sh\necho ran $0\n", 0o755)
            path = environment(PATH=folder.path + ":" + os.environ["PATH"])
            answer = folder.call("-q", "--pmu", "nosuch", name, env=path)
            refused(answer, 2, "--pmu nosuch")  # the program was found, and everything else was right


def test_scenario_without_counters():
    """--scenario without usable counters: the message says this, and what to do"""
    if expect(call("events"), 0).stdout.split("\n")[1].split()[1] == "yes":
        raise tap.Skip("this machine has hardware counters")
    answer = call("record", "--scenario", "l1", "true")
    if "nothing can be counted" in answer.stderr:
        raise tap.Skip("nothing can be counted here: " + answer.stderr)
    refused(answer, 2, "--scenario l1 needs hardware counters: the processor's counters cannot be used", "leave out the option")


def test_cpu_each():
    """--cpu each for a run without CPUs shows the run, and says once that it was counted as a whole"""
    for command in (["report"], ["phases"], ["plot", "-o", "-"], ["export"]):
        told = expect(FOLDER.call(*command, "--cpu", "each"), 0)
        assert told.stderr.count("\n") == 1 and "was not counted per CPU" in told.stderr, told.stderr
        quiet = expect(FOLDER.call(*command, "--cpu", "each", "-q"), 0)
        assert not quiet.stderr and quiet.stdout == told.stdout, quiet
    assert not expect(FOLDER.call("export"), 0).stderr


def test_control_characters():
    """control characters in an argument do not reach the terminal"""
    answer = refused(call("report", "--bo\033[31mgus\n"), 2)
    assert "\033" not in answer.stderr, answer.stderr


def test_order():
    """a wrong argument is reported before a store is opened"""
    with Folder() as folder:
        for command in COMMANDS:
            refused(folder.call(command, "--nonsense", "x"), 2, "'--nonsense'")


def test_help_wins():
    """--help before a wrong argument still prints the help"""
    expect(call("report", "--help", "--nonsense"), 0)


with FOLDER:
    prepare()
    tap.main([("refused: " + row[0][:60], check, *row) for row in MISTAKES] +
             [test_table, test_help, test_programs_win, test_scenario_without_counters, test_cpu_each,
              test_control_characters, test_order, test_help_wins])
