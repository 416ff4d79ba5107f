CREATE TABLE reclock_consensus_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT reclock_consensus_version_pkc PRIMARY KEY (version_num)
);

-- Running upgrade  -> 0001

CREATE TABLE IF NOT EXISTS catalog_updates (
    ts BIGINT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    diff INTEGER NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (ts, kind, key, diff)
);

CREATE INDEX IF NOT EXISTS catalog_updates_by_kind ON catalog_updates (kind);

CREATE TABLE IF NOT EXISTS catalog_upper (
    id INTEGER NOT NULL,
    upper BIGINT NOT NULL,
    PRIMARY KEY (id),
    CHECK (id = 1)
);

CREATE TABLE IF NOT EXISTS reclock_backfill (
    group_id TEXT NOT NULL,
    PRIMARY KEY (group_id)
);

CREATE TABLE IF NOT EXISTS reclock_controller (
    name TEXT NOT NULL,
    term BIGINT NOT NULL,
    leader TEXT,
    epoch BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    catalog_frontier BIGINT NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE IF NOT EXISTS reclock_environment (
    one INTEGER NOT NULL,
    id TEXT NOT NULL,
    catalog TEXT NOT NULL,
    PRIMARY KEY (one),
    CHECK (one = 1)
);

CREATE TABLE IF NOT EXISTS reclock_frontier (
    group_id TEXT NOT NULL,
    since BIGINT NOT NULL,
    upper BIGINT NOT NULL,
    claim_id TEXT,
    claim_at BIGINT,
    claim_owner TEXT,
    claim_lease_until BIGINT,
    claim_payload TEXT,
    published_claim_id TEXT,
    PRIMARY KEY (group_id),
    CONSTRAINT reclock_frontier_since CHECK (0 <= since AND since <= upper),
    CONSTRAINT reclock_frontier_claim CHECK (claim_id IS NULL OR upper <= claim_at),
    UNIQUE (claim_id)
);

CREATE TABLE IF NOT EXISTS reclock_introspection (
    table_id TEXT NOT NULL,
    last_write BIGINT NOT NULL,
    PRIMARY KEY (table_id)
);

CREATE TABLE IF NOT EXISTS reclock_introspection_record (
    at BIGINT NOT NULL,
    token TEXT NOT NULL,
    PRIMARY KEY (at),
    UNIQUE (token)
);

CREATE TABLE IF NOT EXISTS reclock_introspection_staging (
    name TEXT NOT NULL,
    lease_until BIGINT NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE IF NOT EXISTS reclock_introspection_trimmed (
    table_id TEXT NOT NULL,
    upper BIGINT NOT NULL,
    PRIMARY KEY (table_id)
);

CREATE TABLE IF NOT EXISTS reclock_introspection_write (
    at BIGINT NOT NULL,
    part INTEGER NOT NULL,
    table_id TEXT NOT NULL,
    ipc BYTEA,
    staged TEXT,
    PRIMARY KEY (at, part),
    CONSTRAINT reclock_introspection_write_payload CHECK ((ipc IS NULL) <> (staged IS NULL))
);

CREATE INDEX IF NOT EXISTS ix_reclock_introspection_write_table_id ON reclock_introspection_write (table_id);

CREATE TABLE IF NOT EXISTS reclock_leadership (
    id INTEGER NOT NULL,
    epoch BIGINT NOT NULL,
    deploy_generation BIGINT NOT NULL,
    PRIMARY KEY (id),
    CHECK (id = 1)
);

CREATE TABLE IF NOT EXISTS reclock_leftovers (
    source_id TEXT NOT NULL,
    name TEXT NOT NULL,
    what TEXT NOT NULL,
    upstream TEXT NOT NULL,
    at BIGINT NOT NULL,
    error TEXT,
    detail TEXT,
    PRIMARY KEY (source_id)
);

CREATE TABLE IF NOT EXISTS reclock_passwords (
    role_id TEXT NOT NULL,
    verifier TEXT NOT NULL,
    PRIMARY KEY (role_id)
);

CREATE TABLE IF NOT EXISTS reclock_read_hold (
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    at BIGINT NOT NULL,
    lease_until BIGINT,
    PRIMARY KEY (id)
);

CREATE INDEX IF NOT EXISTS ix_reclock_read_hold_lease_until ON reclock_read_hold (lease_until);

CREATE INDEX IF NOT EXISTS ix_reclock_read_hold_owner ON reclock_read_hold (owner);

CREATE TABLE IF NOT EXISTS reclock_read_hold_group (
    hold_id TEXT NOT NULL,
    group_id TEXT NOT NULL,
    PRIMARY KEY (hold_id, group_id)
);

CREATE INDEX IF NOT EXISTS ix_reclock_read_hold_group_group_id ON reclock_read_hold_group (group_id);

CREATE TABLE IF NOT EXISTS reclock_replica (
    replica_id BIGINT NOT NULL,
    cluster_id BIGINT NOT NULL,
    incarnation BIGINT NOT NULL,
    address TEXT,
    token TEXT NOT NULL,
    lease_until BIGINT NOT NULL,
    trouble TEXT,
    PRIMARY KEY (replica_id)
);

CREATE TABLE IF NOT EXISTS reclock_reporter (
    name TEXT NOT NULL,
    token TEXT NOT NULL,
    lease_until BIGINT NOT NULL,
    PRIMARY KEY (name),
    UNIQUE (token)
);

CREATE TABLE IF NOT EXISTS reclock_restart (
    group_id TEXT NOT NULL,
    partition TEXT NOT NULL,
    reading BIGINT NOT NULL,
    PRIMARY KEY (group_id, partition)
);

CREATE TABLE IF NOT EXISTS reclock_secrets (
    reference TEXT NOT NULL,
    token TEXT NOT NULL,
    PRIMARY KEY (reference)
);

CREATE TABLE IF NOT EXISTS reclock_statistics (
    object_id TEXT NOT NULL,
    last_at BIGINT NOT NULL,
    steps BIGINT NOT NULL,
    offsets BIGINT NOT NULL,
    updates BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (object_id)
);

CREATE TABLE IF NOT EXISTS reclock_status (
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT,
    detail TEXT,
    hint TEXT,
    at BIGINT NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE IF NOT EXISTS reclock_status_history (
    id BIGSERIAL NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT,
    detail TEXT,
    hint TEXT,
    at BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX IF NOT EXISTS ix_reclock_status_history_name ON reclock_status_history (name);

CREATE TABLE IF NOT EXISTS reclock_store_mark (
    one INTEGER NOT NULL,
    number BIGINT NOT NULL,
    token TEXT NOT NULL,
    in_lake BIGINT NOT NULL,
    PRIMARY KEY (one),
    CHECK (one = 1)
);

CREATE TABLE IF NOT EXISTS reclock_stored_object (
    object_id TEXT NOT NULL,
    incarnation TEXT NOT NULL,
    PRIMARY KEY (object_id)
);

CREATE TABLE IF NOT EXISTS reclock_table (
    table_id TEXT NOT NULL,
    last_write BIGINT NOT NULL,
    PRIMARY KEY (table_id)
);

CREATE TABLE IF NOT EXISTS reclock_table_record (
    at BIGINT NOT NULL,
    token TEXT NOT NULL,
    PRIMARY KEY (at),
    UNIQUE (token)
);

CREATE TABLE IF NOT EXISTS reclock_table_staging (
    name TEXT NOT NULL,
    lease_until BIGINT NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE IF NOT EXISTS reclock_table_trimmed (
    table_id TEXT NOT NULL,
    upper BIGINT NOT NULL,
    PRIMARY KEY (table_id)
);

CREATE TABLE IF NOT EXISTS reclock_table_write (
    at BIGINT NOT NULL,
    part INTEGER NOT NULL,
    table_id TEXT NOT NULL,
    ipc BYTEA,
    staged TEXT,
    PRIMARY KEY (at, part),
    CONSTRAINT reclock_table_write_payload CHECK ((ipc IS NULL) <> (staged IS NULL))
);

CREATE INDEX IF NOT EXISTS ix_reclock_table_write_table_id ON reclock_table_write (table_id);

CREATE TABLE IF NOT EXISTS reclock_timeline (
    timeline TEXT NOT NULL,
    read_ts BIGINT NOT NULL,
    write_ts BIGINT NOT NULL,
    PRIMARY KEY (timeline),
    CONSTRAINT reclock_timeline_order CHECK (0 <= read_ts AND read_ts <= write_ts)
);

CREATE TABLE IF NOT EXISTS reclock_unready_object (
    object_id TEXT NOT NULL,
    error TEXT NOT NULL,
    hint TEXT,
    PRIMARY KEY (object_id)
);

CREATE TABLE IF NOT EXISTS reclock_writer (
    unused INTEGER
);

INSERT INTO reclock_consensus_version (version_num) VALUES ('0001') RETURNING reclock_consensus_version.version_num;

-- Running upgrade 0001 -> 0002

CREATE TABLE catalog_since (
    id INTEGER NOT NULL,
    since BIGINT NOT NULL,
    PRIMARY KEY (id),
    CHECK (id = 1)
);

UPDATE reclock_consensus_version SET version_num='0002' WHERE reclock_consensus_version.version_num = '0001';

-- Running upgrade 0002 -> 0003

CREATE TABLE reclock_sequence (
    id TEXT NOT NULL,
    last_value BIGINT NOT NULL,
    is_called BOOLEAN NOT NULL,
    PRIMARY KEY (id)
);

UPDATE reclock_consensus_version SET version_num='0003' WHERE reclock_consensus_version.version_num = '0002';

-- Running upgrade 0003 -> 0004

ALTER TABLE reclock_frontier ADD COLUMN probed_at BIGINT;

UPDATE reclock_consensus_version SET version_num='0004' WHERE reclock_consensus_version.version_num = '0003';

-- Running upgrade 0004 -> 0005

CREATE TABLE reclock_lock_holder (
    session TEXT NOT NULL,
    lease_until BIGINT NOT NULL,
    PRIMARY KEY (session)
);

CREATE TABLE reclock_advisory_lock (
    key TEXT NOT NULL,
    session TEXT NOT NULL,
    is_shared BOOLEAN NOT NULL,
    PRIMARY KEY (key, session, is_shared)
);

UPDATE reclock_consensus_version SET version_num='0005' WHERE reclock_consensus_version.version_num = '0004';

-- Running upgrade 0005 -> 0006

CREATE TABLE reclock_registration (
    sink_id TEXT NOT NULL,
    sink TEXT NOT NULL,
    entry TEXT NOT NULL,
    former TEXT NOT NULL,
    is_registered BOOLEAN NOT NULL,
    error TEXT,
    detail TEXT,
    hint TEXT,
    at BIGINT NOT NULL,
    PRIMARY KEY (sink_id)
);

UPDATE reclock_consensus_version SET version_num='0006' WHERE reclock_consensus_version.version_num = '0005';

-- Running upgrade 0006 -> 0007

ALTER TABLE reclock_environment ADD COLUMN is_copy BOOLEAN DEFAULT false NOT NULL;

UPDATE reclock_consensus_version SET version_num='0007' WHERE reclock_consensus_version.version_num = '0006'
