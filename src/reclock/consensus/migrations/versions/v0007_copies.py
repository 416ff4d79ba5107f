"""Whether an environment is a copy of one that may still run."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column(
        "reclock_environment",
        sa.Column("is_copy", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
