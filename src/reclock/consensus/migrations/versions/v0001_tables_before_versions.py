"""The tables of consensus as they were before it had versions. An environment of that time has them already."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "catalog_updates",
        sa.Column("ts", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("diff", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("ts", "kind", "key", "diff"),
        if_not_exists=True,
    )
    op.create_index("catalog_updates_by_kind", "catalog_updates", ["kind"], if_not_exists=True)
    op.create_table(
        "catalog_upper",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("upper", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("id = 1"),
        sa.PrimaryKeyConstraint("id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_backfill",
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("group_id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_controller",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("term", sa.BigInteger(), nullable=False),
        sa.Column("leader", sa.Text(), nullable=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.Column("catalog_frontier", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_environment",
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("catalog", sa.Text(), nullable=False),
        sa.CheckConstraint("one = 1"),
        sa.PrimaryKeyConstraint("one"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_frontier",
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("upper", sa.BigInteger(), nullable=False),
        sa.Column("claim_id", sa.Text(), nullable=True),
        sa.Column("claim_at", sa.BigInteger(), nullable=True),
        sa.Column("claim_owner", sa.Text(), nullable=True),
        sa.Column("claim_lease_until", sa.BigInteger(), nullable=True),
        sa.Column("claim_payload", sa.Text(), nullable=True),
        sa.Column("published_claim_id", sa.Text(), nullable=True),
        sa.CheckConstraint("0 <= since AND since <= upper", name="reclock_frontier_since"),
        sa.CheckConstraint("claim_id IS NULL OR upper <= claim_at", name="reclock_frontier_claim"),
        sa.PrimaryKeyConstraint("group_id"),
        sa.UniqueConstraint("claim_id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_introspection",
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("last_write", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("table_id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_introspection_record",
        sa.Column("at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("at"),
        sa.UniqueConstraint("token"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_introspection_staging",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_introspection_trimmed",
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("upper", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("table_id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_introspection_write",
        sa.Column("at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("part", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("ipc", sa.LargeBinary(), nullable=True),
        sa.Column("staged", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "(ipc IS NULL) <> (staged IS NULL)",
            name="reclock_introspection_write_payload",
        ),
        sa.PrimaryKeyConstraint("at", "part"),
        if_not_exists=True,
    )
    op.create_index(
        "ix_reclock_introspection_write_table_id",
        "reclock_introspection_write",
        ["table_id"],
        if_not_exists=True,
    )
    op.create_table(
        "reclock_leadership",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("deploy_generation", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("id = 1"),
        sa.PrimaryKeyConstraint("id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_leftovers",
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("upstream", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("source_id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_passwords",
        sa.Column("role_id", sa.Text(), nullable=False),
        sa.Column("verifier", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("role_id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_read_hold",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        if_not_exists=True,
    )
    op.create_index(
        "ix_reclock_read_hold_lease_until",
        "reclock_read_hold",
        ["lease_until"],
        if_not_exists=True,
    )
    op.create_index(
        "ix_reclock_read_hold_owner",
        "reclock_read_hold",
        ["owner"],
        if_not_exists=True,
    )
    op.create_table(
        "reclock_read_hold_group",
        sa.Column("hold_id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("hold_id", "group_id"),
        if_not_exists=True,
    )
    op.create_index(
        "ix_reclock_read_hold_group_group_id",
        "reclock_read_hold_group",
        ["group_id"],
        if_not_exists=True,
    )
    op.create_table(
        "reclock_replica",
        sa.Column("replica_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("cluster_id", sa.BigInteger(), nullable=False),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.Column("trouble", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("replica_id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_reporter",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        sa.UniqueConstraint("token"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_restart",
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("partition", sa.Text(), nullable=False),
        sa.Column("reading", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("group_id", "partition"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_secrets",
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("reference"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_statistics",
        sa.Column("object_id", sa.Text(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.Column("steps", sa.BigInteger(), nullable=False),
        sa.Column("offsets", sa.BigInteger(), nullable=False),
        sa.Column("updates", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("object_id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_status",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("hint", sa.Text(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_status_history",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("hint", sa.Text(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        if_not_exists=True,
    )
    op.create_index(
        "ix_reclock_status_history_name",
        "reclock_status_history",
        ["name"],
        if_not_exists=True,
    )
    op.create_table(
        "reclock_store_mark",
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("in_lake", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("one = 1"),
        sa.PrimaryKeyConstraint("one"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_stored_object",
        sa.Column("object_id", sa.Text(), nullable=False),
        sa.Column("incarnation", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("object_id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_table",
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("last_write", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("table_id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_table_record",
        sa.Column("at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("at"),
        sa.UniqueConstraint("token"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_table_staging",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_table_trimmed",
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("upper", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("table_id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_table_write",
        sa.Column("at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("part", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("table_id", sa.Text(), nullable=False),
        sa.Column("ipc", sa.LargeBinary(), nullable=True),
        sa.Column("staged", sa.Text(), nullable=True),
        sa.CheckConstraint("(ipc IS NULL) <> (staged IS NULL)", name="reclock_table_write_payload"),
        sa.PrimaryKeyConstraint("at", "part"),
        if_not_exists=True,
    )
    op.create_index(
        "ix_reclock_table_write_table_id",
        "reclock_table_write",
        ["table_id"],
        if_not_exists=True,
    )
    op.create_table(
        "reclock_timeline",
        sa.Column("timeline", sa.Text(), nullable=False),
        sa.Column("read_ts", sa.BigInteger(), nullable=False),
        sa.Column("write_ts", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("0 <= read_ts AND read_ts <= write_ts", name="reclock_timeline_order"),
        sa.PrimaryKeyConstraint("timeline"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_unready_object",
        sa.Column("object_id", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("object_id"),
        if_not_exists=True,
    )
    op.create_table(
        "reclock_writer",
        sa.Column("unused", sa.Integer(), nullable=True),
        if_not_exists=True,
    )
