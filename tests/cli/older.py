"""Stores of older formats, without some columns and tables: they are read as they are, with "not
known" for what is missing, and are upgraded when they are written to.

usage: older.py RPISTAT
"""
import json
import os
import re
import sqlite3

from program import Folder, ask_store, expect, refused, tap

# Columns that the outputs of the commands below depend on. Without any other column the outputs are
# the same.
SHOWN = {
    "run": "label command host cpu_model cpu_count kernel pmu counter_count plan period_ns start_realtime_ns state exit_status"
           " recorder_cpu_ns recorder_after_ns user_ns system_ns memory_bytes".split(),
    "event": "name label family state estimate low high certainty share".split(),
    "metric": "metric_no label unit family panel value low high certainty share".split(),
    "rollup": "length_ns enabled_ns idle_ns".split(),  # the report's rates, and times on a CPU
    "period": "rotation set_no start_ns length_ns cycles clock_running_ns idle_ns enabled_ns running_ns c0 c1".split(),
}
# A run needs these columns; each version of the store has them.
NEEDED = {"metric": ["formula"], "rollup": ["last_period", "merged", "end_ns"]}
READING = (["report"], ["runs"], ["export"], ["plot", "-o", "-"])
COMMANDS = READING + (["phases"],)  # this command writes into the store
TABLES = ("run", "event", "metric", "period", "rollup")


def ask(folder, sql, name="rpistat.data"):
    return ask_store(folder / name, sql)


def change(folder, sql, name):
    connection = sqlite3.connect(folder / name)
    connection.executescript(sql)
    connection.close()


def older(folder, name, sql, version):
    """A copy of rpistat.data without views, changed by sql, with this version."""
    if os.path.exists(folder / name):
        os.unlink(folder / name)
    change(folder, "PRAGMA journal_mode = DELETE", "rpistat.data")
    folder.write(name, folder.read("rpistat.data"))
    views = "".join("DROP VIEW %s;" % view for view, in ask(folder, "SELECT name FROM sqlite_schema WHERE type = 'view'"))
    change(folder, "%s %s; PRAGMA user_version = %d" % (views, sql, version), name)
    return name


def printed(folder, name):
    """The output and status of each of COMMANDS."""
    before, said = folder.read(name), []
    for command in COMMANDS:
        assert command not in READING or folder.read(name) == before, command
        answer = folder.call(*command, "-i", name)
        said.append((answer.returncode, answer.stdout.replace(name, ""), answer.stderr.replace(name, "")))
    return said


def test_columns():
    """columns are dropped, each visible one alone and all others together: outputs that do not need them are the same"""
    with Folder(1) as folder:
        whole = printed(folder, older(folder, "w.data", "", 1008))
        assert [status for status, _, _ in whole] == [0] * len(COMMANDS), whole
        drop = {}
        for table in TABLES:
            for column, key in ask(folder, "SELECT name, pk FROM pragma_table_info('%s')" % table):
                if not key and column != "uuid" and column not in NEEDED.get(table, ()):  # uuid is a key too
                    drop[table, column] = "ALTER TABLE %s DROP COLUMN %s;" % (table, column)
        others = [of for of in drop if of[1] not in SHOWN[of[0]]]
        assert len(others) > 100, others
        assert printed(folder, older(folder, "o.data", "".join(drop[of] for of in others), 1000)) == whole
        for of in tap.quarter(sorted(drop.keys() - others)):
            got = printed(folder, older(folder, "o.data", drop[of], 1000))
            assert [status for status, _, _ in got] == [0] * len(COMMANDS), (of, got)


FORMATS = (
    (1000, "".join("DROP TABLE %s;" % table for table in "code_count location task program stack frame module sampling".split()) +
     "ALTER TABLE run DROP COLUMN recorder_after_ns"),
    (1002, "CREATE TABLE recorder_after (run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE, cpu_ns INTEGER NOT"
     " NULL) STRICT; INSERT INTO recorder_after SELECT run_id, recorder_after_ns FROM run;"
     "ALTER TABLE run DROP COLUMN recorder_after_ns"),
)


def test_counts():
    """a store of format 1.3, with another encoding of stacks and samples, gives the same outputs, also downsampled, merged and repaired"""
    with Folder(1) as folder:
        folder.write("samples.sim", "function f 0x1000 0x10\nfunction g 0x2000 0x10\nphase a 9s code=g>f\nphase b 3s code=g\n")
        expect(folder.call("record", "--pmu", "sim:samples.sim", "-o", "rpistat.data"), 0)
        rows = {}
        for column, number in (("stacks", "stack"), ("tasks", "task")):
            for *key, times, numbers in ask(folder, "SELECT run_id, level, cpu, period, samples, json_group_array(%s) FROM %s_count"
                                            " GROUP BY run_id, level, cpu, period, samples" % (number, number)):
                rows.setdefault(tuple(key), {}).setdefault(column, {})[times] = json.loads(numbers)
        assert len(rows) > 100, rows
        sql = "".join("UPDATE code_count SET stacks = '%s', tasks = '%s' WHERE run_id = %d AND level = %d AND cpu = %d AND period = %d;"
                      % (*(json.dumps(row[column], separators=(",", ":")) for column in ("stacks", "tasks")), *key)
                      for key, row in rows.items())
        # The part of a period after a commit: all its counts are in part 0 now.
        sql += "DELETE FROM code_count WHERE part > 0;"
        views = ["SELECT * FROM %s_count ORDER BY 1, 2, 3, 4, 5, samples" % view for view in ("stack", "task", "function")]
        views.append("SELECT * FROM stack_frame ORDER BY 1, 2")
        stacks = ask(folder, views[-1])
        assert ask(folder, "SELECT count(*) < %d AND count(calls) > 0 FROM stack" % len(stacks)) == [(1,)], stacks
        sql += ("ALTER TABLE stack DROP COLUMN calls; DELETE FROM stack; INSERT INTO stack VALUES %s;"
                % ", ".join(str(stack).replace("None", "NULL") for stack in stacks))
        name = older(folder, "older.data", sql, 1003)
        want = [expect(folder.call("code", *more, "-i", "rpistat.data"), 0).stdout for more in ((), ("--by", "thread"))]
        counts = [ask(folder, view) for view in views]
        for into, command in (("older.data", None), ("repaired.data", ["check", "-i", name, "--repair", "-o", "repaired.data"]),
                              ("merged.data", ["merge", name, "-i", "merged.data"]),
                              ("edited.data", ["runs", "1", "--set-label", "edited", "-i", "edited.data"])):
            if into == "edited.data":
                folder.write(into, folder.read(name))
            if command:
                expect(folder.call(*command), 0)
                assert [ask(folder, view, into) for view in views] == counts, into
            assert ": OK (" in expect(folder.call("check", "-i", into), 0).stdout
            got = [expect(folder.call("code", *more, "-i", into), 0).stdout.replace(into, "rpistat.data") for more in ((), ("--by", "thread"))]
            assert got == want, (into, got, want)


def test_formats():
    """a store of formats 1.0 and 1.2 is read as it is, and is upgraded when it is written to"""
    with Folder(1) as folder:
        for version, sql in FORMATS:
            name = older(folder, "older.data", sql, version)
            before = folder.read(name)
            for command in READING:
                texts = [re.sub(r", \S+ s afterwards", "",  # not known at that time
                                expect(folder.call(*command, "-i", store), 0).stdout.replace(store, ""))
                         for store in ("rpistat.data", name)]
                assert texts[0] == texts[1], texts
            expect(folder.call("plot", "-o", "page.html", "-i", name), 0)
            refused(folder.call("code", "-i", name), 1, "run 1 has no samples")
            assert expect(folder.call("check", "-i", name), 0).stdout == \
                "older.data: OK (1 run, %d periods)\n" % ask(folder, "SELECT count(*) FROM period")[0][0]
            for into, command in (("repaired", ["check", "-i", name, "--repair", "-o"]), ("merged", ["merge", name, "-i"])):
                into = "%s%d.data" % (into, version)
                expect(folder.call(*command, into), 0)
                assert ": OK (" in expect(folder.call("check", "-i", into), 0).stdout
            assert folder.read(name) == before

            for store, write in (("edited.data", ["runs", "1", "--set-label", "edited", "-i"]),
                                 ("phases.data", ["phases", "-i"]),
                                 ("more.data", ["record", "--pmu", "sim:samples.sim", "-o"])):
                folder.write(store, before)
                folder.write("samples.sim", "function f 0x1000 0x10\nphase a 2s code=f\n")
                expect(folder.call(*write, store), 0)
                assert ask(folder, "PRAGMA user_version", store) == [(1008,)]
                answer = expect(folder.call("check", "-i", store), 0)
                assert answer.stdout.startswith(store + ": OK ("), answer.stdout
                after = ask(folder, "SELECT recorder_after_ns FROM run WHERE run_id = 1", store)
                assert after == (ask(folder, "SELECT recorder_after_ns FROM run") if version == 1002 else [(None,)]), after
            assert ask(folder, "SELECT run_id FROM sampling", "more.data") == ([(2,)] if version == 1000 else [(1,), (2,)])
            assert "f " in expect(folder.call("code", "-i", "more.data"), 0).stdout
            refused(folder.call("code", "-r", "1", "-i", "more.data"), 1, "no samples")
            for store in ("edited.data", "phases.data", "more.data"):
                os.unlink(folder / store)


tap.main([test_columns, test_counts, test_formats])
