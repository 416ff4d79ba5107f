"""Reads a step's rows into staged files: unchanged, or as the difference that they make to an
output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reclock.algebra.timestamps import Timestamp
from reclock.connectors.connector import Connector
from reclock.definitions.sources import SourceSpec
from reclock.ingest.difference import DifferenceJob
from reclock.ingest.engines import Engines
from reclock.ingest.source_collections import SourceCollections
from reclock.ingest.stage import StagingJob, StagingOutcome
from reclock.ingest.upsert import replacement


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a step at ``at``. Its rows go to files under the name ``staging``, which no
    version contains yet."""

    source: SourceSpec
    at: Timestamp
    staging: str
    collections: SourceCollections
    options: Mapping[str, str]
    engines: Engines

    def stage(self, connector: Connector, tasks: Sequence[Any]) -> StagingOutcome:
        """Stage the rows of the tasks. For an output with a key, stage the difference that they
        make to it. For a truncated output, stage the difference between its rows and them."""
        rule = replacement(self.source.connector)
        messages = {
            output: rule.message_desc(desc)
            for output, desc in self.source.outputs.items()
            if desc.key
        }
        targets = self.collections.staging_uris(self.staging)
        job = StagingJob(
            connector,
            _one_each(tasks, self.at),
            self.source.outputs,
            targets,
            self.options,
            messages,
        )
        outcome = job.run(self.engines)
        for output, desc in self.source.outputs.items():
            if output in outcome.failed:
                continue
            is_truncated = output in outcome.truncated
            difference = DifferenceJob(desc, self.at, targets[output], self.options)
            if output in messages:
                state = None if is_truncated else self.collections.outputs[output].pin()
                difference.upsert(self.engines, rule, state)
            if is_truncated:
                difference.replace(self.engines, self.collections.outputs[output].pin())
        return outcome

    def stage_as_they_come(self, connector: Connector, tasks: Sequence[Any]) -> StagingOutcome:
        """Stage the rows of the tasks."""
        targets = self.collections.staging_uris(self.staging)
        job = StagingJob(
            connector, _one_each(tasks, self.at), self.source.outputs, targets, self.options
        )
        return job.run(self.engines)

    def replace_outputs(self, outcome: StagingOutcome) -> None:
        """The staged rows are everything that the upstream has: replace them by the difference
        between the outputs and them."""
        targets = self.collections.staging_uris(self.staging)
        for output, desc in self.source.outputs.items():
            if output in targets and output not in outcome.failed:
                difference = DifferenceJob(desc, self.at, targets[output], self.options)
                difference.replace(
                    self.engines, self.collections.outputs[output].pin().without_errors
                )


def _one_each(tasks: Iterable[Any], at: Timestamp) -> list[list[tuple[Timestamp, Any]]]:
    """One task for each piece of work."""
    return [[(at, task)] for task in tasks]
