#!/usr/bin/env python3
"""The include table: src/layers.txt compared with the #include lines, and with the words that modules
may use.

Checked by reading, not by compiling, because a compiler sees no difference between a header that a
module may use and one that only happens to be found. The last cases break a small tree on purpose,
once for each rule, so that a rule that stopped working is noticed.
"""
import fnmatch
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402


class Module:
    def __init__(self, name, above):
        self.name, self.above = name, above
        self.headers, self.libraries, self.only, self.word = [], [], [], []

    def only_of(self, file):
        return [name for pattern, names in self.only if fnmatch.fnmatchcase(file, pattern)
                for name in names]


class Table:
    """src/layers.txt, parsed; `complaints` holds what is wrong with the table itself."""

    def __init__(self, path):
        self.modules, self.free, self.complaints = {}, [], []
        module = None
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                words = line.split("#")[0].split()
                if not words:
                    continue
                if words[0] == "free":
                    self.free += words[1:]
                elif words[0] == "module":
                    module = self.add_module(words, number)
                elif not module or not self.add_line(module, words):
                    self.complaints.append("line %d is no line of the table: %s"
                                           % (number, line.strip()))

    def add_module(self, words, number):
        module = Module(words[1].rstrip(":"), words[2:])
        for name in module.above:
            if name not in self.modules:
                self.complaints.append("line %d: module %s may include %s, which is not listed above it"
                                       % (number, module.name, name))
        self.modules[module.name] = module
        return module

    @staticmethod
    def add_line(module, words):
        for_files = len(words) > 2 and words[1].endswith(":")
        if words[0] in ("only", "word") and for_files:
            getattr(module, words[0]).append((words[1].rstrip(":"), words[2:]))
            return True
        lists = {"header": module.headers, "library": module.libraries}
        if words[0] not in lists:
            return False
        lists[words[0]] += words[1:]
        return True

    def owner(self, header):
        """The module that owns the header of include/rpistat, or None."""
        for module in self.modules.values():
            if header in module.headers:
                return module
        return None

    def reserved_words(self, module, file):
        """Identifiers that this file of the module may not use."""
        reserved = {word for other in self.modules.values() for _, words in other.word
                    for word in words}
        return reserved - {word for pattern, words in module.word
                           if fnmatch.fnmatchcase(file, pattern) for word in words}


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def sources(directory):
    """Names of the C files in a directory, sorted; none if the directory does not exist."""
    if not os.path.isdir(directory):
        return []
    return sorted(name for name in os.listdir(directory) if name.endswith((".c", ".h")))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def includes(text):
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', text, re.M)


def identifiers(text):
    """Identifiers of C text outside comments, strings, #include lines and format attributes."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', " ", text,
                  flags=re.S)
    text = re.sub(r"^\s*#\s*include.*$", " ", text, flags=re.M)
    text = re.sub(r"\bformat\s*\(\s*\w+", " ", text)
    return set(re.findall(r"[A-Za-z_]\w*", text))


class Check:
    """All rules of the table for one tree; each method returns a list of sentences."""

    def __init__(self, root):
        self.root = root
        self.table = Table(os.path.join(root, "src", "layers.txt"))

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def check_table(self):
        return self.table.complaints

    def check_directories(self):
        found = {name for name in os.listdir(self.path("src"))
                 if any(file.endswith((".c", ".h")) for _, _, files in os.walk(self.path("src", name)) for file in files)}
        wrong = ["src/%s is not in the table" % name for name in found - set(self.table.modules)]
        wrong += ["module %s has no directory" % name for name in set(self.table.modules) - found]
        return wrong + ["src/%s belongs into a module" % name for name in sources(self.path("src"))
                        if name not in self.table.free]

    def check_contracts(self):
        there = {name[:-2] for name in sources(self.path("include", "rpistat"))}
        listed = [name for module in self.table.modules.values() for name in module.headers]
        wrong = ["include/rpistat/%s.h is no module's contract" % name
                 for name in there - set(listed)]
        wrong += ["%s.h is in the table and not in include/rpistat" % name
                  for name in set(listed) - there]
        return wrong + ["%s.h is the contract of two modules" % name
                        for name in set(listed) if listed.count(name) > 1]

    def check_include(self, module, name, where, extra):
        """Return None, or the reason why a file of the module may not include the header."""
        contract = re.fullmatch(r"rpistat/(\w+)\.h", name)
        if contract:
            owner = self.table.owner(contract.group(1))
            if owner is None:
                return "%s: %s is no module's contract" % (where, name)
            if owner is not module and owner.name not in module.above and not matches(name, extra):
                return "%s: %s is of module %s, which %s may not include" % (
                    where, name, owner.name, module.name)
            return None
        if matches(name, self.table.free + extra):
            return None
        return "%s: module %s may not include %s" % (where, module.name, name)

    def check_sources(self):
        wrong = []
        for module in self.table.modules.values():
            own = sources(self.path("src", module.name)) + ["config.h"] * (module.name == "cli")
            for file in sources(self.path("src", module.name)):
                extra = module.libraries + own + module.only_of(file)
                where = "src/%s/%s" % (module.name, file)
                wrong += [self.check_include(module, name, where, extra)
                          for name in includes(read(self.path(where)))]
        return [sentence for sentence in wrong if sentence]

    def check_contract_includes(self):
        wrong = []
        for file in sources(self.path("include", "rpistat")):
            module = self.table.owner(file[:-2])
            if module:
                where = "include/rpistat/" + file
                wrong += [self.check_include(module, name, where, module.only_of(file))
                          for name in includes(read(self.path(where)))]
        return [sentence for sentence in wrong if sentence]

    def check_tests(self):
        """A module's unit tests may include what the module may, its own headers, and cmocka."""
        wrong = []
        for module in self.table.modules.values():
            directory = "tests/unit/" + module.name
            own = ["%s/%s" % (module.name, name) for name in sources(self.path("src", module.name))]
            extra = module.libraries + own + sources(self.path(directory)) + ["setjmp.h", "cmocka.h"]
            for file in sources(self.path(directory)):
                where = "%s/%s" % (directory, file)
                wrong += [self.check_include(module, re.sub(r"^(\.\./)+(src/)?", "", name), where,
                                             extra + ["support/*"] + module.only_of(file))
                          for name in includes(read(self.path(where)))]
        return [sentence for sentence in wrong if sentence]

    def check_words(self):
        wrong = []
        for module in self.table.modules.values():
            for file in sources(self.path("src", module.name)):
                reserved = self.table.reserved_words(module, file)
                where = "src/%s/%s" % (module.name, file)
                for word in sorted(reserved & identifiers(read(self.path(where)))):
                    wrong.append("%s: %s is not for module %s, or not for this file"
                                 % (where, word, module.name))
        return wrong


RULES = (
    ("the table itself is well-formed and has no circle", Check.check_table),
    ("every directory of src is a module, and every module a directory", Check.check_directories),
    ("every contract header is one module's", Check.check_contracts),
    ("modules include only what the table allows", Check.check_sources),
    ("contract headers include only contract headers and libc", Check.check_contract_includes),
    ("unit tests include only what their module may", Check.check_tests),
    ("only the modules that own them use reserved identifiers", Check.check_words),
)

GOOD_TREE = {
    "src/layers.txt": "free stdio.h\nmodule low:\n  header a\n  library lib.h\n  only x_*.c: odd.h\n"
                      "  only z.c: rpistat/b.h\n"
                      "module high: low\n  header b\n  word h*.c: stdout\n",
    "include/rpistat/a.h": "#include <stdio.h>\n",
    "include/rpistat/b.h": '#include "rpistat/a.h"\n',
    "src/low/low.c": '#include "rpistat/a.h"\n#include "own.h"\n#include <lib.h>\n'
                     "/* stdout */ __attribute__((format(stdout, 1, 2)))\n",
    "src/low/own.h": "",
    "src/low/x_1.c": "#include <odd.h>\n",
    "src/low/z.c": '#include "rpistat/b.h"\n',
    "src/high/high.c": '#include "rpistat/a.h"\nstdout; "stderr";\n',
    "tests/unit/low/test_low.c": '#include <cmocka.h>\n#include "../../../src/low/own.h"\n',
}

# Rule, file, its wrong text, and a part of the expected sentence.
BREAKS = (
    (Check.check_table, "src/layers.txt", "module a: b\nmodule b:\n", "is not listed above it"),
    (Check.check_table, "src/layers.txt", "module a:\n  hedaer b\n", "no line of the table"),
    (Check.check_directories, "src/other/o.c", "", "src/other is not in the table"),
    (Check.check_directories, "src/stray.c", "", "src/stray.c belongs into a module"),
    (Check.check_contracts, "include/rpistat/c.h", "", "c.h is no module's contract"),
    (Check.check_contracts, "src/layers.txt", "module low:\n header a z\nmodule high:\n header b\n",
     "z.h is in the table"),
    (Check.check_contracts, "src/layers.txt", "module low:\n header a\nmodule high:\n header a b\n",
     "two modules"),
    (Check.check_sources, "src/low/low.c", '#include "rpistat/b.h"\n', "b.h is of module high"),
    (Check.check_sources, "src/low/low.c", "  #  include <odd.h>\n", "may not include odd.h"),
    (Check.check_sources, "src/high/high.c", '#include "../low/own.h"\n', "may not include ../low"),
    (Check.check_sources, "src/high/high.c", '#include "low/own.h"\n', "may not include low/own.h"),
    (Check.check_sources, "src/high/high.c", "#include <lib.h>\n", "may not include lib.h"),
    (Check.check_contract_includes, "include/rpistat/a.h", "#include <lib.h>\n", "lib.h"),
    (Check.check_contract_includes, "include/rpistat/a.h", '#include "rpistat/b.h"\n', "b.h"),
    (Check.check_tests, "tests/unit/low/test_low.c", '#include "rpistat/b.h"\n', "b.h is of module"),
    (Check.check_tests, "tests/unit/low/test_low.c", '#include "../../../src/high/h.h"\n', "high"),
    (Check.check_words, "src/low/low.c", "fputs(x, stdout);\n", "stdout is not for module low"),
    (Check.check_words, "src/high/other.c", "stdout;\n", "stdout is not for module high"),
)


def make_tree(directory, files):
    for name, text in files.items():
        path = os.path.join(directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def check_project(rule):
    wrong = rule(Check(tap.root()))
    assert not wrong, "\n" + "\n".join(wrong)


def check_good_tree():
    """a tree that follows all rules has no complaints"""
    with tempfile.TemporaryDirectory() as directory:
        make_tree(directory, GOOD_TREE)
        for _, rule in RULES:
            assert rule(Check(directory)) == [], rule(Check(directory))


def check_break(rule, name, text, sentence):
    with tempfile.TemporaryDirectory() as directory:
        make_tree(directory, {**GOOD_TREE, name: text})
        wrong = rule(Check(directory))
        assert any(sentence in line for line in wrong), "not noticed: %s" % wrong


tap.main([(name, check_project, rule) for name, rule in RULES] + [check_good_tree] +
         [("noticed: %s: %s" % (name, sentence), check_break, rule, name, text, sentence)
          for rule, name, text, sentence in BREAKS])
