"""Constants that tests search for in the output, present or absent.

`cli/golden.py` checks that each occurs in a golden file. Therefore, a test that asserts the absence of one
cannot pass because the wording has changed.
"""
# report
CODE_TITLE = "CPU time by"  # the section of functions or programs
THREADS = "Threads:"  # the lines of the answer
PHASES = "Phases:"
WAITING = "waiting for a CPU"
ASLEEP = "asleep"
OFF_CPU = "off-CPU"
LIMIT = "CPU limit:"
IDLE = "idle thread"
DEADLOCK = "possible deadlock"
SCALED = "scaled up"
PER_CPU = "\nPer CPU"  # the section of CPUs
# phases
CLASS_TITLE = "Each class compared with the whole"
ITERATIONS = " iterations from "
START = " Start "
