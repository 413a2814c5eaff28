#!/usr/bin/env python3
"""Write rpistat-json(5) in scdoc: json_page.py SCHEMA METRICS INTRODUCTION > PAGE

The names come from schema/output.schema.json and the system metrics from rpistat/system_metrics.h,
so that the page agrees with both.
"""
import json
import re
import sys

SUFFIX_UNITS = {"_mib": "MiB", "_mib_s": "MiB/s", "_s_per_s": "s/s", "_w": "W", "_gb_s": "10^9 bytes/s"}
ENDS = (("", ""), ("_low", "smallest value: "), ("_high", "largest value: "))


def names(schema):
    """{name: (descriptions, unit or None)} of all properties of a schema"""
    kinds, found = schema["$defs"], {}
    for kind in kinds.values():
        properties = dict(kind.get("properties", {}))
        others = kind.get("additionalProperties")
        properties.update(others.get("properties", {}) if isinstance(others, dict) else {})
        for name, value in properties.items():
            text = value.get("description") or kinds[name]["description"]
            unit = re.search(r" \(([^()]*)\)$", text)
            known = found.setdefault(name, ([], unit and unit.group(1)))[0]
            text = text[:unit.start()] if unit else text
            if text not in known:
                known.append(text)
    return found


def columns(header):
    """[(rank, stem, suffix, explanation, number of names in JSON)] of the system metrics with a column"""
    found = []
    for row in re.findall(r"METRIC\((.*?)(?=METRIC\(|#define|$)", header.replace("\\\n", " "), re.S):
        column = re.search(r'\.column = {"(\w+)", "(\w*)"([^}]*)', row)
        explain = "".join(re.findall(r'"([^"]*)"', re.split(r",\s*\.\w+ =", row)[0])[4:])
        if column:
            rank = re.search(r"\.later = (\d)", column[3])
            count = 3 if "RPS_COLUMN_RANGE" in column[3] else 1 if "RPS_COLUMN_MEAN" in column[3] else 0
            found.append((int(rank[1]) if rank else 0, column[1], column[2], explain.rstrip("."), count))
    return sorted(found, key=lambda row: row[0])


def item(name, unit, text):
    return ["*%s*%s" % (name, " (%s)" % unit if unit else ""), "\t" + re.sub(r"([\\_*#])", r"\\\1", text), ""]


def page(schema, header, introduction):
    found, lines = names(schema), [introduction.rstrip(), ""]
    for _, stem, suffix, text, count in columns(header):
        for end, of in ENDS[:count]:
            found[stem + end + suffix] = ([of + text], SUFFIX_UNITS.get(suffix))
    for name, (texts, unit) in sorted(found.items()):
        lines += item(name, unit, "; ".join(texts))
    lines += ["# COLUMNS OF SYSTEM METRICS", "", "The columns of *rpistat export --format wide* and *rates*, in their order:", ""]
    for _, stem, suffix, text, _ in columns(header):
        lines += item(stem + suffix, SUFFIX_UNITS.get(suffix), text)
    return "\n".join(lines + ["# SEE ALSO", "", "*rpistat*(1), *rpistat-automation*(7), *rpistat.data*(5)"])


if __name__ == "__main__":
    texts = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    print(page(json.loads(texts[0]), *texts[1:]))
