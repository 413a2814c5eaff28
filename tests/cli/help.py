"""Help, version and the manual page: they exist, and they agree."""
import functools
import glob
import json
import os
import re

import program
from program import COMMANDS, Folder, call, expect, tap

# An argument for each kind of option without completions.
SAMPLES = {
    "T": "5s", "FILE": "f.svg", "RUN": "last", "TEXT": "a=b", "KEY=VALUE": "a=b", "KEY": "a", "WxH": "800x600",
    "DIR": "kept", "C": ",", "PIPE": "fifo:control", "LIST": "1", "CPUS": "0-1", "N": "3",
    "PATH": "build", "SIZE": "1G", "HZ": "99", "EVENT": "page-faults:7", "PATTERN": "web*", "URL": "http://h",
    "RUNS": "label:main", "LIMIT": "cpi>+3%", "TIME": "14:30", "P": "1%", "ZONE": "UTC", "[=FORM]": "local",
}
SAMPLES_OF = {"record keep": "7d", "phases metric": "cpi,cpu_use"}


@functools.lru_cache(maxsize=None)
def help_of(command):
    return expect(call(command, "--help"), 0).stdout


def options_of(text):
    """{long name: (letter or None, argument or None)} of a help text."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"  (?:-(\w), |    )--([\w-]+)(?: ?(\[=\S+|(?<= )\S+))?  ", line)
        if match:
            found[match.group(2)] = (match.group(1), match.group(3))
    return found


def page_of(name):
    path, = glob.glob(os.path.join(tap.root(), "src", "cli" if name == "rpistat" else "man", name + ".?.scd*"))
    with open(path, encoding="utf-8") as file:
        return file.read()


def sections_of(page):
    """{section: options, as options_of returns them} of a page's source"""
    sections, section = {}, None
    for line in page.split("\n"):
        if line.startswith("# "):
            section_name = line[2:].strip()
            section = sections.setdefault(section_name, {})
        elif section is not None and section_name.endswith("OPTIONS") and line.startswith("*-"):
            for part in line.strip().split(", *--" if line.startswith("*--") else "\n"):
                part = part if part.startswith("*") else "*--" + part
                match = re.match(r"(?:\*-(\w)\*, )?\*--([\w-]+)\*(?: ?(\[=.+|(?<= ).+))?$", part)
                assert match, "cannot read: " + line
                argument = match.group(3) and match.group(3).replace("_", "")
                section[match.group(2)] = (match.group(1), argument)
    return sections


def references():
    """(page, section number) of all pages that a page refers to"""
    pages = [os.path.basename(path).split(".")[0] for path in glob.glob(os.path.join(tap.root(), "src", "man", "*.scd*"))]
    return {found for name in pages + ["rpistat"]
            for found in re.findall(r"\*((?:lib)?rpistat[\w-]*)\*\((\d)\)", page_of(name))}


def manual():
    """{section: options} of rpistat(1), and of each command the options of its page"""
    sections = sections_of(page_of("rpistat"))
    for command in COMMANDS:
        sections[command.upper()] = sections_of(page_of("rpistat-" + command))["OPTIONS"]
    return sections


def test_pages():
    """a command's page has its name, usage, options and examples, and rpistat(1) refers to it"""
    main_page = page_of("rpistat")
    for command in COMMANDS:
        assert main_page.count("*rpistat-%s*(1)" % command) >= 2, command
        page = page_of("rpistat-" + command)
        found = re.findall(r"^# (.*)", page, re.M)
        assert [name for name in found if name in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "SEE ALSO")] == \
            ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "SEE ALSO"], (command, found)
        usage = re.search(r"^Usage: rpistat \w+ (.*)", help_of(command), re.M).group(1)
        synopsis = re.search(r"^\*rpistat %s\* (.*)" % command, page, re.M).group(1)
        assert re.sub(r"[_*]|\+\+$", "", synopsis) == usage, (command, synopsis, usage)
        assert page.startswith("rpistat-%s(1)\n" % command)
    assert len(references()) > 12, references()
    for name, section in references():
        assert page_of(name).startswith("%s(%s)\n" % (name, section)), (name, section)


def test_help():
    """each command's help goes to standard output, in 80 columns, with an example"""
    for command in COMMANDS:
        answer = expect(call(command, "--help"), 0)
        assert not answer.stderr, answer.stderr
        assert answer.stdout.startswith("Usage: rpistat " + command), answer.stdout
        assert "\nExamples:\n  rpistat " in answer.stdout, answer.stdout
        assert len(options_of(answer.stdout)) >= 4, answer.stdout
        for line in answer.stdout.splitlines():
            assert len(line) <= 80 and line == line.rstrip(), line
        assert call(command, "-h").stdout == answer.stdout


def test_help_aligned():
    """the descriptions of the options are in one column"""
    for command in COMMANDS:
        columns = {re.match(r"  (?:-\w, |    )--\S+(?: \S+)? +", line).end()
                   for line in help_of(command).splitlines() if re.match(r" +(-\w, )?--", line)}
        assert len(columns) == 1, (command, columns)


def test_general_help():
    """rpistat --help and -h list each command; without arguments, the usage is wrong"""
    answer = expect(call("--help"), 0)
    assert not answer.stderr
    for command in COMMANDS:
        assert re.search(r"^  %s +\w" % command, answer.stdout, re.M), command
    assert call("-h").stdout == answer.stdout
    for line in answer.stdout.splitlines():
        assert len(line) <= 80, line
    alone = expect(call(), 2)
    assert not alone.stdout and alone.stderr.startswith("Usage: rpistat"), alone.stderr


def test_words():
    """the manual has each word that an option accepts; it has examples of separators, sets and times"""
    for command in json.loads(call("help", "--format", "json").stdout)["commands"]:
        page = page_of("rpistat-" + command["name"])
        for option in command["options"]:
            words = option["choices"] if option["name"] not in ("sets", "separator", "decimal", "from", "to") else []
            text = re.search(r"^\*(?:-\w\*, \*)?(?:--[\w-]+\*(?: _\w+_)?, \*)*--%s\*.*\n((?:\t.*\n|\n)*)" % option["name"], page, re.M)
            for word in words if text else []:  # in the option's paragraph, or in a heading or a list of the page
                assert re.search(r"(?<![\w-])%s(?![\w-])" % word.rstrip(":"), text.group()) or "*" + word in page, \
                    (command["name"], option["name"], word)


def test_version():
    """--version prints the version, also after each command"""
    expected = "rpistat %s\n" % os.environ["RPISTAT_VERSION"]
    for arguments in [[]] + [[command] for command in COMMANDS]:
        answer = expect(call(*arguments, "--version"), 0)
        assert answer.stdout == expected and not answer.stderr, answer


def test_no_trace():
    """help and version leave no file behind"""
    with Folder() as folder:
        before = os.listdir(folder.path)
        for command in COMMANDS:
            folder.call(command, "--help")
            folder.call(command, "--version")
        assert os.listdir(folder.path) == before


def test_manual_has_help():
    """each option in a command's help is in the manual page, with the same argument"""
    sections = manual()
    for command in COMMANDS:
        known = {**sections["COMMON OPTIONS"], **sections.get(command.upper(), {})}
        for name, option in options_of(help_of(command)).items():
            assert known.get(name) == option, (command, name, option, known.get(name))


def test_help_has_manual():
    """each option of the manual page is in the help of its command; common options are in all"""
    sections = manual()
    helps = {command: options_of(help_of(command)) for command in COMMANDS}
    for command in COMMANDS:
        assert command.upper() in sections, command
        for name, option in sections[command.upper()].items():
            assert helps[command].get(name) == option, (command, name, option)
    for name, option in sections["COMMON OPTIONS"].items():
        where = COMMANDS
        if name == "input":
            where = program.READING + ["watch", "check", "code", "explain", "compare", "history", "merge", "stop", "push"]
        elif name in ("run", "from", "to"):
            where = ["report", "phases", "plot", "export", "code", "explain", "merge"] + ["runs", "watch", "push"] * (name == "run")
        for command in COMMANDS:
            assert (name in helps[command]) == (command in where), (command, name)
            assert helps[command].get(name, option) == option, (command, name, option)


def test_one_order():
    """commands have the same order in the general help and in the manual's synopsis"""
    helped = re.findall(r"^  (\w+) +\w", call("--help").stdout.split("\nCommands:\n")[1], re.M)
    assert sorted(helped) == sorted(COMMANDS), helped
    synopsis = page_of("rpistat").split("\n# ")[2]
    assert re.findall(r"^\*rpistat (\w+)\*", synopsis, re.M) == helped + ["help"], synopsis


def sample(command, name, argument):
    """A value that the option accepts: its sample, the last word that completion offers, or a name."""
    known = SAMPLES_OF.get(command + " " + name) or SAMPLES.get(argument)
    if known:
        return known
    offered = call("--complete", command, "--" + name, "").stdout.split("\n")
    return ["x", *(word for word in offered if word and not word.startswith(":") and not word.endswith(":"))][-1]


def test_options_are_taken():
    """every option of the help is accepted, in its long and its short form"""
    for command in COMMANDS:
        words = []
        for name, (letter, argument) in options_of(help_of(command)).items():
            if name in ("help", "version"):
                continue
            value = sample(command, name, argument) if argument else None
            words.append("--" + name + ("=" + value if value else ""))  # refused if the option has no argument
            words += ["-" + letter + (value or "")] if letter else []
        answer = expect(call(command, *words, "--help"), 0)
        assert answer.stdout == help_of(command), (command, words)
        for name, (_, argument) in options_of(help_of(command)).items():
            assert argument or call(command, "--%s=x" % name).returncode == 2, (command, name)


def test_formats():
    """the export formats in the help exist, and no others"""
    text = help_of("export")
    names = re.findall(r"^  ([\w-]+)  +\w", text.split(" Formats:\n")[1].split("\n\n")[0], re.M)
    assert len(names) >= 3, text
    refusal = call("export", "--format", "none-such").stderr
    assert re.search(r"choose from (.*)\n", refusal).group(1).split(", ") == names, refusal
    for name in ("rates", "long", "every"):
        assert name in names and name in dict(options_of(text)), name


tap.main([test_help, test_help_aligned, test_general_help, test_pages, test_one_order, test_version, test_words, test_no_trace,
          test_manual_has_help, test_help_has_manual, test_options_are_taken, test_formats])
