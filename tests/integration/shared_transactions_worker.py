"""A tick over the environment of a test, by a process that may be killed in it: see
``reclock.failpoints``."""

import sys

from reclock.pipeline import tick
from reclock.runtime.environment import Environment

with Environment.open(sys.argv[1]) as environment:
    tick.run(environment, owner="worker")
