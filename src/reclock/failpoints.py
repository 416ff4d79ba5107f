"""Named moments between two durable steps, at which a test kills the process to see that recovery
works.

`failpoint(name)` does nothing, unless the environment variable `RECLOCK_FAILPOINT` equals the name.
Then it kills the process by SIGKILL: no handler, no `finally` and no flush run, as when a machine
is lost.

`FAILPOINTS` registers every name, with what is durable at that moment. A test fails if a registered
failpoint is not in the code, or if no test kills a process there.
"""

import os
import signal
from collections.abc import Callable, Mapping

VARIABLE = "RECLOCK_FAILPOINT"

FAILPOINTS: Mapping[str, str] = {
    # --- collections and the log of table writes ---
    "collections.create.landed": (
        "the Delta table exists; the entry in its parent folder may not be synced"
    ),
    "collections.append.before_write": "nothing",
    "collections.append.before_commit": "the data file, which no version names",
    "collections.append.after_commit": "the append; the caller does not know",
    "collections.commit.landed": "a version of a Delta table; its log entry may not be synced",
    "collections.checkpoint.written": "the checkpoint file; it may not be synced",
    "collections.compact.before_commit": "the rewritten files, which no version names",
    "collections.compact.after_commit": "the compaction; the replaced files are still there",
    "collections.correct.before_commit": "the corrected file, which no version names",
    "collections.vacuum.before_delete": "nothing is deleted yet",
    "collections.drop.hidden": (
        "the collection does not exist for readers; its files are still there"
    ),
    "tables.create.before_register": "the table's collection; the table WAL does not know it",
    "tables.fill.reserved": "the lease on the name of a filled table; it has no collection",
    "tables.fill.written": "the rows of a table that is not in the catalog",
    "tables.stage.reserved": "the lease on a staging folder, which is empty",
    "tables.stage.written": "the staged rows, which no commit names",
    "tables.commit.before": "staged rows at most; no write of the transaction",
    "tables.commit.after": "all writes of the transaction; the caller does not know",
    "tables.apply.before_append": "the writes in the table WAL only",
    "tables.apply.after_append": "the writes in the table WAL and in one collection",
    "tables.apply.before_trim": "the writes in the table WAL and in every collection",
    "tables.apply.after_trim": "the writes in every collection only",
    "tables.drop.before_forget": "the table's collection is dropped; the table WAL still knows it",
    # --- the catalog ---
    "catalog.open.before_epoch": "nothing",
    "catalog.open.after_epoch": "the new epoch, in the catalog",
    "catalog.open.after_mirror": "the new epoch, in the catalog and in consensus",
    "catalog.open.before_contents": "the new epoch; no migration and no new content",
    "catalog.open.after_contents": "the new epoch, the migrations and the new content",
    "catalog.commit.before_append": "nothing of the transaction",
    "catalog.commit.after_append": "the transaction; the oracle does not know its time",
    "catalog.mend.before_epoch": "nothing",
    "catalog.mend.after_epoch": "the new epoch, in the catalog",
    "catalog.mend.before_append": "the new epoch, not the edit",
    "catalog.mend.after_append": "the edit; the oracle does not know its time",
    "catalog.stash.append.updates_written": "nothing: the database transaction is open",
    "catalog.stash.append.before_commit": "nothing: the database transaction is complete, but open",
    "catalog.stash.lead.updates_written": "nothing: the database transaction is open",
    "catalog.stash.lead.before_commit": "nothing: the database transaction is complete, but open",
    "catalog.stash.compact.since_raised": "the new since; all updates are still there",
    "catalog.stash.compact.before_commit": (
        "the new since; the transaction that deletes a batch is open"
    ),
    "catalog.stash.compact.batch_deleted": "the new since, and one batch is deleted",
    "catalog.persist.create.landed": (
        "the catalog's empty Delta table; the entry in its parent folder may not be synced"
    ),
    "catalog.persist.append.file_written": "the file of the updates, which no version names",
    "catalog.persist.append.landed": "the updates",
    "catalog.persist.lead.file_written": "the file of the new epoch, which no version names",
    "catalog.persist.lead.landed": "the new epoch, in the catalog",
    "catalog.persist.merge.files_written": "the merged file, which no version names",
    "catalog.persist.merge.landed": "the merge; the replaced files are still there",
    "catalog.persist.merge.deleted": "the merge, and one replaced file is deleted",
    "catalog.persist.compact.since_raised": "the new since; all updates are still there",
    "catalog.persist.compact.files_written": (
        "the new since, and the rewritten file, which no version names"
    ),
    "catalog.persist.compact.landed": "the compaction; the replaced files are still there",
    "catalog.shadow.compare_and_append.between": "the updates, in the primary log only",
    "catalog.shadow.lead.between": "the new epoch, in the primary log only",
    "catalog.shadow.compact.between": "the compaction, of the primary log only",
    "catalog.convert.before_seal": "nothing",
    "catalog.convert.after_seal": "the seal on the source's log",
    "catalog.convert.before_copy": "the seal on the source's log",
    "catalog.convert.after_copy": "the seal and the copy; the copy may have a history of its own",
    "catalog.convert.before_switch": "the seal and the whole copy; the source is in force",
    "catalog.convert.before_switch_commit": "as before the switch: its transaction is open",
    "catalog.convert.after_switch": "the copy is in force",
    "definitions.before_commit": (
        "verifiers of passwords and the pending cleanup of dropped sources; no definition"
    ),
    "definitions.after_commit": "the definitions; replaced verifiers are still there",
    # --- controllers ---
    "controllers.storage.elected": "a term of the storage controller",
    "controllers.storage.before_command": "the term, and the commands carried out so far",
    "controllers.storage.after_command": "one more command; the catalog frontier is not advanced",
    "controllers.storage.before_advance": "all commands; the catalog frontier is not advanced",
    "controllers.storage.after_advance": "all commands and the catalog frontier",
    "controllers.compute.after_command": "nothing: replicas in this process end with it",
    "controllers.compute.before_advance": "nothing: replicas in this process end with it",
    "controllers.managed.elected": "a term of a cluster's compute controller",
    "controllers.managed.begun": "the registration of an incarnation whose process is not started",
    "controllers.managed.after_command": (
        "a replica has one more dataflow; the catalog frontier is not advanced"
    ),
    "controllers.managed.before_advance": "all commands; the catalog frontier is not advanced",
    # --- ingestion ---
    "resnapshot.after_decision": (
        "the decision, in the claim; the definition has the identities of the old tables"
    ),
    "resnapshot.after_definition": (
        "the decision and the new identities; the next step may have read by the old ones"
    ),
    "ingest.after_probe": "nothing",
    "ingest.after_claim": "a claim that names no work",
    "ingest.after_read_once": "the claim, and staged rows that it does not name",
    "ingest.after_claimed": "the claim with the increments to bind",
    "ingest.after_reread": "the claim with the corrected increments",
    "ingest.after_bind": "the bindings; the claim does not say so",
    "ingest.after_bound": "the bindings, and the claim says so",
    "ingest.after_stage": "the staged rows; the claim does not name them",
    "ingest.after_staged": "the staged rows, and the claim names them",
    "ingest.before_commit": "the staged rows, which the data collection does not have",
    "ingest.after_commit": "the rows in the data collection; the upper is not advanced",
    "ingest.after_publish": "the step, visibly",
    "rebuild.after_stage": "the staged rows of all outputs, which no version names",
    "rebuild.after_replace": "the rebuilt rows of one output",
    "backfill.before_advance": "the interval's rows; the backfill's progress is not advanced",
    # --- indexes and sinks ---
    "refresh.after_claim": "the claim of the index",
    "refresh.spilled": (
        "the claim, and a file in the spill folder of the process, which nobody else reads"
    ),
    "refresh.merged": "the claim: partial aggregates, and what merges them, are in memory",
    "refresh.after_append": "the index's changes; its upper is not advanced",
    "refresh.after_publish": "the refresh, visibly",
    "sinks.emit.after_claim": "the claim of the sink",
    "sinks.emit.begun": "the claim; the target has fenced earlier writers",
    "sinks.postgres.before_commit": "nothing: the transaction in PostgreSQL is complete, but open",
    "sinks.postgres.after_commit": "the changes of one time and the progress, in PostgreSQL",
    "sinks.emit.committed": (
        "the changes of one time, in the target; the sink's upper is not advanced"
    ),
    "sinks.emit.published": "the changes of all times, and the sink's upper",
    "sinks.delta.before_commit": "the files of one time, which no version of the target names",
    "sinks.delta.after_commit": "the changes of one time, in the target",
    "sinks.files.before_manifest": "the files of one time, which no manifest names",
    "sinks.files.after_manifest": "the changes of one time and the progress, in the target",
    "copy.files.before_manifest": "the files of a COPY, which no manifest names",
    "copy.files.after_manifest": "the files of a COPY and their manifest; the client does not know",
    "sinks.iceberg.before_commit": "the files of one time, which no snapshot of the target names",
    "sinks.iceberg.after_commit": "the changes of one time and the progress, in the target",
    "sinks.kafka.before_commit": "the messages of one time, in an open Kafka transaction",
    "sinks.kafka.after_commit": "the changes of one time, in the target",
    "registrations.recorded": (
        "the entry of a sink's table, in consensus; no metastore was asked for it"
    ),
    "metastore.before_change": "the same",
    "metastore.after_change": "one more change in the metastore; consensus does not know of it",
    # --- maintenance, backup, restore ---
    "maintenance.after_since": "the group's new since; nothing is compacted",
    "maintenance.after_compact": "the compaction of one collection",
    "maintenance.after_checkpoint": "the compaction and the checkpoint of one collection",
    "maintenance.before_record": "the maintenance, not its record of storage usage",
    "maintenance.after_record": "the record of storage usage",
    "backup.before_consensus": "a folder that is no backup yet",
    "backup.after_consensus": "the copy of consensus; no manifest",
    "backup.collection_copied": "the copies of consensus and of one collection; no manifest",
    "restore.consensus_cleared": "the lake of the environment that is replaced; consensus is empty",
    "restore.lake_cleared": "nothing of the environment that is replaced",
    "restore.lake_copied": "the backup's lake; consensus is empty",
    "restore.consensus_copied": "the backup's lake and consensus, under no new epoch",
    "restore.led": "the new epoch; the environment has no mark, so that no process opens it",
}
"""Every failpoint, and what is durable when a process is killed there."""

on_reach: Callable[[str], None] | None = None
"""What a test does, within this process, at every failpoint."""


def failpoint(name: str) -> None:
    """Mark the moment `name`. Returns, unless a test asked for this failpoint. Raises `KeyError` if
    it is not registered."""
    if name not in FAILPOINTS:
        raise KeyError(f'failpoint "{name}" is not registered')
    if on_reach is not None:
        on_reach(name)
    if os.environ.get(VARIABLE) == name:
        os.kill(os.getpid(), signal.SIGKILL)
