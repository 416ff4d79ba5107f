"""What to write in the place of functions that other SQL dialects have."""

from __future__ import annotations

from collections.abc import Mapping

_CASE = "CASE WHEN condition THEN value ELSE other END"

WRITTEN_INSTEAD: Mapping[str, str] = {
    "add_months": "moment + interval '3 months'",
    "approx_count_distinct": "count(DISTINCT value)",
    "array_contains": "value = ANY (elements)",
    "array_size": "cardinality(elements)",
    "charindex": "strpos(string, part)",
    "collect_list": "array_agg(value)",
    "collect_set": "array_agg(DISTINCT value)",
    "date_add": "moment + interval '1 day'",
    "date_diff": "later - earlier",
    "date_format": "to_char(moment, 'YYYY-MM-DD')",
    "date_sub": "moment - interval '1 day'",
    "dateadd": "moment + interval '1 day'",
    "datediff": "later - earlier",
    "day": "extract(day FROM moment)",
    "dayofweek": "extract(isodow FROM moment)",
    "endswith": "right(string, length(part)) = part",
    "explode": "unnest(elements)",
    "from_json": "string::jsonb",
    "from_unixtime": "to_timestamp(seconds)",
    "get_json_object": "document #>> '{path,to,field}'",
    "getdate": "now()",
    "group_concat": "string_agg(string, ',')",
    "hour": "extract(hour FROM moment)",
    "if": _CASE,
    "iff": _CASE,
    "ifnull": "coalesce(value, other)",
    "iif": _CASE,
    "instr": "strpos(string, part)",
    "isnull": "value IS NULL",
    "json_extract": "document #> '{path,to,field}'",
    "last_day": "date_trunc('month', moment) + interval '1 month -1 day'",
    "len": "length(string)",
    "listagg": "string_agg(string, ',')",
    "locate": "strpos(string, part)",
    "minute": "extract(minute FROM moment)",
    "month": "extract(month FROM moment)",
    "nvl": "coalesce(value, other)",
    "nvl2": "CASE WHEN value IS NOT NULL THEN other ELSE 0 END",
    "quarter": "extract(quarter FROM moment)",
    "second": "extract(second FROM moment)",
    "size": "cardinality(elements)",
    "sysdate": "now()",
    "ucase": "upper(string)",
    "unix_timestamp": "extract(epoch FROM moment)",
    "week": "extract(week FROM moment)",
    "year": "extract(year FROM moment)",
    "zeroifnull": "coalesce(value, 0)",
}
"""By the name of a function that PostgreSQL lacks, or that takes other arguments there: an example
of what PostgreSQL has."""
