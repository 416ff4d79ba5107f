"""Catalogs for features that Reclock does not have (extensions, triggers, publications, …). They
exist and are empty."""

from __future__ import annotations

import re

from reclock.introspection.relation import Builtin
from reclock.introspection.views import parse_columns

_RELATIONS = """
pg_aggregate: aggfnoid regproc, aggkind text, aggnumdirectargs smallint, aggtransfn regproc,
    aggfinalfn regproc, aggsortop oid, aggtranstype oid, agginitval text
pg_amop: oid! oid, amopfamily oid, amoplefttype oid, amoprighttype oid, amopstrategy smallint,
    amoppurpose text, amopopr oid, amopmethod oid, amopsortfamily oid
pg_amproc: oid! oid, amprocfamily oid, amproclefttype oid, amprocrighttype oid, amprocnum smallint,
    amproc regproc
pg_available_extension_versions: name text, version text, installed boolean, superuser boolean,
    trusted boolean, relocatable boolean, schema text, requires text[], comment text
pg_available_extensions: name text, default_version text, installed_version text, comment text
pg_cast: oid! oid, castsource oid, casttarget oid, castfunc oid, castcontext text, castmethod text
pg_conversion: oid! oid, conname text, connamespace oid, conowner oid, conforencoding integer,
    contoencoding integer, conproc regproc, condefault boolean
pg_db_role_setting: setdatabase oid, setrole oid, setconfig text[]
pg_default_acl: oid! oid, defaclrole oid, defaclnamespace oid, defaclobjtype text, defaclacl text[]
pg_event_trigger: oid! oid, evtname text, evtevent text, evtowner oid, evtfoid oid, evtenabled text,
    evttags text[]
pg_extension: oid! oid, extname text, extowner oid, extnamespace oid, extrelocatable boolean,
    extversion text
pg_foreign_data_wrapper: oid! oid, fdwname text, fdwowner oid, fdwhandler oid, fdwvalidator oid,
    fdwacl text[], fdwoptions text[]
pg_foreign_server: oid! oid, srvname text, srvowner oid, srvfdw oid, srvtype text, srvversion text,
    srvacl text[], srvoptions text[]
pg_foreign_table: ftrelid oid, ftserver oid, ftoptions text[]
pg_inherits: inhrelid oid, inhparent oid, inhseqno integer, inhdetachpending boolean
pg_language: oid! oid, lanname text, lanowner oid, lanispl boolean, lanpltrusted boolean,
    lanplcallfoid oid, laninline oid, lanvalidator oid, lanacl text[]
pg_largeobject_metadata: oid! oid, lomowner oid, lomacl text[]
pg_opclass: oid! oid, opcmethod oid, opcname text, opcnamespace oid, opcowner oid, opcfamily oid,
    opcintype oid, opcdefault boolean, opckeytype oid
pg_operator: oid! oid, oprname text, oprnamespace oid, oprowner oid, oprkind text, oprleft oid,
    oprright oid, oprresult oid, oprcode regproc
pg_opfamily: oid! oid, opfmethod oid, opfname text, opfnamespace oid, opfowner oid
pg_parameter_acl: oid! oid, parname text, paracl text[]
pg_partitioned_table: partrelid! oid, partstrat text, partnatts smallint, partdefid oid, partattrs
    int2vector, partclass oidvector, partcollation oidvector, partexprs text
pg_policies: schemaname text, tablename text, policyname text, permissive text, roles text[], cmd
    text, qual text, with_check text
pg_policy: oid! oid, polname text, polrelid oid, polcmd text, polpermissive boolean, polroles oid[],
    polqual text, polwithcheck text
pg_publication: oid! oid, pubname text, pubowner oid, puballtables boolean, pubinsert boolean,
    pubupdate boolean, pubdelete boolean, pubtruncate boolean, pubviaroot boolean
pg_publication_namespace: oid! oid, pnpubid oid, pnnspid oid
pg_publication_rel: oid! oid, prpubid oid, prrelid oid, prqual text, prattrs smallint[]
pg_publication_tables: pubname text, schemaname text, tablename text, attnames text[], rowfilter
    text
pg_replication_slots: slot_name text, plugin text, slot_type text, datoid oid, database text,
    temporary boolean, active boolean, active_pid integer, xmin bigint, catalog_xmin bigint,
    restart_lsn text, confirmed_flush_lsn text, wal_status text, safe_wal_size bigint, two_phase
    boolean
pg_rules: schemaname text, tablename text, rulename text, definition text
pg_seclabels: objoid oid, classoid oid, objsubid integer, objtype text, objnamespace oid, objname
    text, provider text, label text
pg_shdepend: dbid oid, classid oid, objid oid, objsubid integer, refclassid oid, refobjid oid,
    deptype text
pg_statistic_ext: oid! oid, stxrelid oid, stxname text, stxnamespace oid, stxowner oid,
    stxstattarget integer, stxkeys smallint[], stxkind text[]
pg_stats: schemaname text, tablename text, attname text, inherited boolean, null_frac real,
    avg_width integer, n_distinct real, correlation real
pg_subscription: oid! oid, subdbid oid, subname text, subowner oid, subenabled boolean, subbinary
    boolean, substream text, subtwophasestate text, subdisableonerr boolean, subpasswordrequired
    boolean, subrunasowner boolean, subconninfo text, subslotname text, subsynccommit text,
    subpublications text[], suborigin text, subskiplsn text
pg_transform: oid! oid, trftype oid, trflang oid, trffromsql regproc, trftosql regproc
pg_trigger: oid! oid, tgrelid oid, tgparentid oid, tgname text, tgfoid oid, tgenabled text,
    tgisinternal boolean, tgconstraint oid
pg_ts_config: oid! oid, cfgname text, cfgnamespace oid, cfgowner oid, cfgparser oid
pg_ts_config_map: mapcfg oid, maptokentype integer, mapseqno integer, mapdict oid
pg_ts_dict: oid! oid, dictname text, dictnamespace oid, dictowner oid, dicttemplate oid,
    dictinitoption text
pg_ts_parser: oid! oid, prsname text, prsnamespace oid, prsstart regproc, prstoken regproc, prsend
    regproc, prsheadline regproc, prslextype regproc
pg_ts_template: oid! oid, tmplname text, tmplnamespace oid, tmplinit regproc, tmpllexize regproc
pg_user_mapping: oid! oid, umuser oid, umserver oid, umoptions text[]
pg_user_mappings: umid oid, srvid oid, srvname text, umuser oid, usename text, umoptions text[]
"""
"""A relation a paragraph: its name and its columns, those of its key with a ``!``."""


def absent(schema: str, declarations: str) -> tuple[Builtin, ...]:
    """Empty relations of ``schema``, declared as ``name: column type, key! type, …``; a long one
    goes on indented."""
    return tuple(
        Builtin(schema, name, parse_columns(columns.split(",")), catalog_rows=lambda state: ())
        for name, columns in re.findall(r"^(\w+): (.*(?:\n .*)*)", declarations, re.MULTILINE)
    )


PG_ABSENT = absent("pg_catalog", _RELATIONS)
