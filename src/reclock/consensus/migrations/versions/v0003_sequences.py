"""How far each sequence has counted."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "reclock_sequence",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("last_value", sa.BigInteger(), nullable=False),
        sa.Column("is_called", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
