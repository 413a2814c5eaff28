#!/usr/bin/env python3
"""Write the schema of a store: schema.sql, with one view per source of system metrics in place of
the line `-- @READING_VIEWS`. The views' columns have the names of the metrics.

usage: schema.py OUTPUT schema.sql system_metrics.h
"""
import re
import sys

SOURCES = ("tree", "machine", "group", "package") # enum rps_system_source


def view(number, source, header):
    rows = header.split("#define RPS_%s_METRICS" % source.upper())[1].split("#define")[0]
    names = re.findall(r'METRIC\(\w+, "(\w+)"', rows)
    return ("-- Readings of source `%s`: one column per metric, in the unit that table signal names.\n"
            "CREATE VIEW reading_%s AS\nSELECT run_id, period, end_ns, length_us,\n       %s\n"
            "FROM reading\nWHERE source = %d;\n"
            % (source, source, ", ".join("s%d AS %s" % row for row in enumerate(names)), number))


def main():
    output, schema, header = sys.argv[1:]
    with open(schema, encoding="utf-8") as file, open(header, encoding="utf-8") as rows:
        rows = rows.read()
        views = "\n".join(view(number, source, rows) for number, source in enumerate(SOURCES))
        text = file.read().replace("-- @READING_VIEWS\n", views)
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)


main()
