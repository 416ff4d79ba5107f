"""A tick over the environment of a test, by a process that may be killed in it: see
``reclock.failpoints``."""

import sys

from fixtures.memory_topics import InThisProcess

from reclock.pipeline import tick
from reclock.runtime.environment import Environment

with Environment.open(sys.argv[1], spark=InThisProcess()) as environment:  # type: ignore[arg-type]
    tick.run(environment, owner="worker")
