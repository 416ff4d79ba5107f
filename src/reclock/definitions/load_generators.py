"""The relations that load generators fill."""

from __future__ import annotations

from collections.abc import Mapping

from reclock.algebra.relations import (
    BIGINT,
    DATE,
    INTEGER,
    TEXT,
    TIMESTAMPTZ,
    Column,
    RelationDesc,
    ScalarType,
    numeric,
)


def _desc(**types: ScalarType) -> RelationDesc:
    return RelationDesc(
        tuple(Column(name, type, is_nullable=False) for name, type in types.items())
    )


_MONEY = numeric(15, 2)

GENERATED: Mapping[str, Mapping[str, RelationDesc]] = {
    "COUNTER": {"": _desc(counter=BIGINT)},
    "AUCTION": {
        "organizations": _desc(id=BIGINT, name=TEXT),
        "users": _desc(id=BIGINT, org_id=BIGINT, name=TEXT),
        "accounts": _desc(id=BIGINT, org_id=BIGINT, balance=BIGINT),
        "auctions": _desc(id=BIGINT, seller=BIGINT, item=TEXT, end_time=TIMESTAMPTZ),
        "bids": _desc(
            id=BIGINT, buyer=BIGINT, auction_id=BIGINT, amount=INTEGER, bid_time=TIMESTAMPTZ
        ),
    },
    "TPCH": {
        "region": _desc(r_regionkey=BIGINT, r_name=TEXT, r_comment=TEXT),
        "nation": _desc(n_nationkey=BIGINT, n_name=TEXT, n_regionkey=BIGINT, n_comment=TEXT),
        "supplier": _desc(
            s_suppkey=BIGINT,
            s_name=TEXT,
            s_address=TEXT,
            s_nationkey=BIGINT,
            s_phone=TEXT,
            s_acctbal=_MONEY,
            s_comment=TEXT,
        ),
        "part": _desc(
            p_partkey=BIGINT,
            p_name=TEXT,
            p_mfgr=TEXT,
            p_brand=TEXT,
            p_type=TEXT,
            p_size=INTEGER,
            p_container=TEXT,
            p_retailprice=_MONEY,
            p_comment=TEXT,
        ),
        "partsupp": _desc(
            ps_partkey=BIGINT,
            ps_suppkey=BIGINT,
            ps_availqty=INTEGER,
            ps_supplycost=_MONEY,
            ps_comment=TEXT,
        ),
        "customer": _desc(
            c_custkey=BIGINT,
            c_name=TEXT,
            c_address=TEXT,
            c_nationkey=BIGINT,
            c_phone=TEXT,
            c_acctbal=_MONEY,
            c_mktsegment=TEXT,
            c_comment=TEXT,
        ),
        "orders": _desc(
            o_orderkey=BIGINT,
            o_custkey=BIGINT,
            o_orderstatus=TEXT,
            o_totalprice=_MONEY,
            o_orderdate=DATE,
            o_orderpriority=TEXT,
            o_clerk=TEXT,
            o_shippriority=INTEGER,
            o_comment=TEXT,
        ),
        "lineitem": _desc(
            l_orderkey=BIGINT,
            l_partkey=BIGINT,
            l_suppkey=BIGINT,
            l_linenumber=INTEGER,
            l_quantity=_MONEY,
            l_extendedprice=_MONEY,
            l_discount=_MONEY,
            l_tax=_MONEY,
            l_returnflag=TEXT,
            l_linestatus=TEXT,
            l_shipdate=DATE,
            l_commitdate=DATE,
            l_receiptdate=DATE,
            l_shipinstruct=TEXT,
            l_shipmode=TEXT,
            l_comment=TEXT,
        ),
    },
}
"""The relations of each kind, by name; ``""`` names the only one."""
GENERATED_KEYS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "TPCH": {
        "region": ("r_regionkey",),
        "nation": ("n_nationkey",),
        "supplier": ("s_suppkey",),
        "part": ("p_partkey",),
        "partsupp": ("ps_partkey", "ps_suppkey"),
        "customer": ("c_custkey",),
        "orders": ("o_orderkey",),
        "lineitem": ("l_orderkey", "l_linenumber"),
    }
}
"""Columns in which no two rows of a relation agree. Ingestion does not replace rows by them."""
