#!/usr/bin/env python3
"""Write rpistat-json(5) in scdoc: json_page.py SCHEMA INTRODUCTION > PAGE

The list of names comes from schema/output.schema.json, so that the page and the schema agree.
"""
import json
import re
import sys


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


def page(schema, introduction):
    lines = [introduction.rstrip(), ""]
    for name, (texts, unit) in sorted(names(schema).items()):
        text = re.sub(r"([\\_*#])", r"\\\1", "; ".join(texts))
        lines += ["*%s*%s" % (name, " (%s)" % unit if unit else ""), "\t%s" % text, ""]
    return "\n".join(lines + ["# SEE ALSO", "", "*rpistat*(1), *rpistat.data*: _schema/README.md_"])


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as schema_file, open(sys.argv[2], encoding="utf-8") as text_file:
        print(page(json.load(schema_file), text_file.read()))
