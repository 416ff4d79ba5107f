"""What views stand on, as PostgreSQL has it: each view is a rule, and the rule is a part of the view (``i``) and
depends on the relations that it names (``n``)."""

from __future__ import annotations

from functools import partial

from reclock.algebra.relations import BOOLEAN, INTEGER, OID, TEXT
from reclock.introspection.relation import Builtin, view

_view = partial(view, "pg_catalog")

DEPENDENCIES: tuple[Builtin, ...] = (
    _view(
        "pg_rewrite",
        """SELECT oid, '_RETURN', oid, '1', 'O', TRUE FROM mz_catalog.mz_objects
        WHERE type IN ('view', 'materialized_view') AND id LIKE 'u%'""",
        ("oid",),
        oid=OID,
        rulename=TEXT,
        ev_class=OID,
        ev_type=TEXT,
        ev_enabled=TEXT,
        is_instead=BOOLEAN,
    ),
    _view(
        "pg_depend",
        """SELECT rewrite.oid, d.view_oid, 0, class.oid, d.oid, 0, d.type FROM (
            SELECT v.oid AS view_oid, o.oid, 'n' AS type FROM mz_internal.mz_object_dependencies d
            JOIN mz_catalog.mz_objects v ON v.id = d.object_id JOIN mz_catalog.mz_objects o ON o.id = d.referenced_object_id
            WHERE v.type IN ('view', 'materialized_view')
            UNION ALL SELECT oid, oid, 'i' FROM mz_catalog.mz_objects WHERE type IN ('view', 'materialized_view') AND id LIKE 'u%'
        ) d, mz_catalog.mz_objects rewrite, mz_catalog.mz_objects class
        WHERE rewrite.name = 'pg_rewrite' AND rewrite.id LIKE 's%' AND class.name = 'pg_class' AND class.id LIKE 's%'""",
        classid=OID,
        objid=OID,
        objsubid=INTEGER,
        refclassid=OID,
        refobjid=OID,
        refobjsubid=INTEGER,
        deptype=TEXT,
    ),
)
