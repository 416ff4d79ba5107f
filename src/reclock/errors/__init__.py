"""Every error a user can meet. One root; each subclass fixes a SQLSTATE and builds its message from
its fields.

A module an area; all are imported from here.
"""

from reclock.errors.catalog import *  # noqa: F403
from reclock.errors.consensus import *  # noqa: F403
from reclock.errors.decoding import *  # noqa: F403
from reclock.errors.extras import *  # noqa: F403
from reclock.errors.files import *  # noqa: F403
from reclock.errors.names import quoted_name as quoted_name
from reclock.errors.names import unquoted_name as unquoted_name
from reclock.errors.names import with_article as with_article
from reclock.errors.notices import SqlWarning as SqlWarning
from reclock.errors.notices import outside_block as outside_block
from reclock.errors.privileges import *  # noqa: F403
from reclock.errors.processes import *  # noqa: F403
from reclock.errors.root import *  # noqa: F403
from reclock.errors.session import *  # noqa: F403
from reclock.errors.sinks import *  # noqa: F403
from reclock.errors.sources import *  # noqa: F403
from reclock.errors.sql import *  # noqa: F403
from reclock.errors.storage import *  # noqa: F403
from reclock.errors.values import *  # noqa: F403
from reclock.errors.writes import *  # noqa: F403
