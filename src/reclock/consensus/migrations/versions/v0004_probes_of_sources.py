"""When the upstream of a frontier group's source was last asked."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("reclock_frontier", sa.Column("probed_at", sa.BigInteger(), nullable=True))
