"""Samples for tests of their readers: rows of code that are put into a store, for the periods of a
run.
"""
import sqlite3


class Code:
    """`add` adds stacks of functions to the periods of a run, then `write` writes them. A function is
    a name, or (name, module, file, line); a stack begins with the outermost. A task is (name, pid,
    tid), optionally followed by its control group.

    A function is a name, or (name, module, file, line); a stack goes from the outermost one on. A task is
    (name, pid, tid), or has its control group behind these.
    """

    def __init__(self, path, run=1, frequency=99):
        self.store, self.run, self.frequency = sqlite3.connect(path, timeout=60), run, frequency
        self.modules, self.frames, self.stacks, self.tasks = {}, {}, {}, {}
        self.counts, self.task_counts, self.cgroups = {}, {}, {}

    def _module(self, path):
        return self.modules.setdefault(path, len(self.modules))

    def _stack(self, functions):
        parent = None
        for function in functions:
            name, module, file, line = function if isinstance(function, tuple) else (function, "/usr/bin/work", "", 0)
            frame = self.frames.setdefault((name, self._module(module), file, line), len(self.frames))
            parent = self.stacks.setdefault((parent, frame), len(self.stacks))
        return parent

    def add(self, period, functions, samples=1, cpu=-1, task=("work", 100, 100)):
        """Add this number of samples of a stack to a period."""
        for counts, key in [(self.counts, self._stack(functions)),
                            (self.task_counts, self.tasks.setdefault(task, len(self.tasks)))]:
            place = (cpu, period, key)
            counts[place] = counts.get(place, 0) + samples

    def write(self, complete=None, lost=0):
        """`complete`: the samples whose call chains are complete; by default all."""
        samples, run = sum(self.counts.values()), self.run
        rows = {
            "sampling": [(run, "cpu-clock", self.frequency, 0, "fp", samples, samples if complete is None else complete,
                          lost, 0, 0)],
            "module": [(run, n, "kernel" if path == "[kernel]" else "file", path, "")
                       for path, n in self.modules.items()],
            "frame": [(run, n, key[1], 4096 + 16 * n) for key, n in self.frames.items()],
            "location": [(run, n, 0, name, file, line, "debug" if file else "symbol")
                         for (name, _, file, line), n in self.frames.items() if name],
            "stack": [(run, n, parent, frame) for (parent, frame), n in self.stacks.items()],
            "task": [(run, n, task[1], task[2], task[0], 0, None, None,
                      self.cgroups.setdefault(task[3], len(self.cgroups)) if len(task) > 3 else None)
                     for task, n in self.tasks.items()],
            "cgroup": [(run, n, path) for path, n in self.cgroups.items()],
            "code_count": [(run, 0, cpu, period, n, '{"%d":[%d]}' % (count, n), "{}")
                           for (cpu, period, n), count in self.counts.items()] +
                          [(run, 0, cpu, period, 1000000 + n, "{}", '{"%d":[%d]}' % (count, n))
                           for (cpu, period, n), count in self.task_counts.items()],
        }
        with self.store:
            for table, content in rows.items():
                if content:  # later columns may be NULL
                    columns = [name for name, in self.store.execute("SELECT name FROM pragma_table_info(?)", (table,))]
                    self.store.executemany("INSERT OR REPLACE INTO %s (%s) VALUES (%s)" % (
                        table, ", ".join(columns[:len(content[0])]), ", ".join("?" * len(content[0]))), content)
        self.store.close()
