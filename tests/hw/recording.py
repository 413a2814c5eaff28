"""The hardware tests' access to a store: plain SQL, as any user may use."""
import sqlite3

TURN_INSTRUCTIONS = 4  # of loop.c


class Recording:
    """The newest run of a store."""

    def __init__(self, path):
        self.store = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        self.run = self.one("SELECT max(run_id) FROM run")

    def rows(self, sql, *values):
        return self.store.execute(sql, values).fetchall()

    def one(self, sql, *values):
        return self.store.execute(sql, values).fetchone()[0]

    def total(self, column):
        return self.one("SELECT sum(%s) FROM period WHERE run_id = ?" % column, self.run)

    def sets(self):
        """Set numbers of the periods in time order."""
        return [row[0] for row in self.rows(
            "SELECT set_no FROM period WHERE run_id = ? ORDER BY period", self.run)]

    def estimate(self, set_no, column):
        """The scaled estimate of one slot of one set over the whole run."""
        count, running = self.rows(
            "SELECT sum(%s), sum(running_ns) FROM period WHERE run_id = ? AND set_no = ?" % column,
            self.run, set_no)[0]
        return count * self.total("enabled_ns") / running

    def fitting(self):
        return self.one("SELECT fitting FROM run WHERE run_id = ?", self.run)


def near(what, value, expected, tolerance):
    assert abs(value - expected) <= tolerance * expected, \
        "%s: %s, expected %s within %g %%" % (what, value, expected, 100 * tolerance)
