#!/usr/bin/env python3
"""Make an empty store, as the file that SQLite makes of the schema: new ones are copies of it, since
executing the schema takes longer than all else that a short recording does.

usage: empty.py OUTPUT schema.sql database.h      (the store's marks stand in database.h)
"""
import os
import re
import sqlite3
import sys


def mark(header, name):
    return int(re.search(r"#define %s +(\w+)" % name, header).group(1), 0)


def main():
    output, schema, header = sys.argv[1:]
    with open(header, encoding="utf-8") as file:
        header = file.read()
    if os.path.exists(output):
        os.unlink(output)
    db = sqlite3.connect(output, isolation_level=None)
    db.execute("PRAGMA page_size = 4096")
    with open(schema, encoding="utf-8") as file:
        db.executescript("BEGIN; %s; PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT" % (
            file.read(), mark(header, "RPS_STORE_APPLICATION_ID"), mark(header, "RPS_STORE_VERSION")))
    db.execute("PRAGMA journal_mode = WAL")
    db.close()


main()
