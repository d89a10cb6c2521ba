-- Results of one Niagara study. Plain columns, so that `sqlite3 results.db` can answer questions:
--
--   SELECT phase, subject, count(*), avg(score) FROM duel WHERE status = 'scored' GROUP BY 1, 2;
--   SELECT label, avg(tps), avg(server_cpu_us_per_transaction) FROM slice_rate
--    WHERE NOT disturbed GROUP BY label;
--
-- Times are milliseconds since the Unix epoch (datetime(started_unix_ms / 1000, 'unixepoch')),
-- durations are seconds, latencies microseconds. Seeds are text: they need all 64 bits, unsigned.

-- What was asked, where, with what seed: one row.
CREATE TABLE study (
    id              INTEGER PRIMARY KEY CHECK (id = 1),
    kind            TEXT    NOT NULL,   -- tune, compare, ladder, matrix, sweep, noise, profile
    command         TEXT    NOT NULL,   -- the command line as typed
    key             TEXT    NOT NULL,   -- hash of everything that decides what is measured
    seed            TEXT    NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    plan            TEXT    NOT NULL,   -- JSON: levers, budget, workload, looks
    machine         TEXT    NOT NULL,   -- JSON: the machine's fingerprint
    niagara_version TEXT    NOT NULL
) STRICT;

-- Every variant that was launched.
CREATE TABLE variant (
    position        INTEGER PRIMARY KEY,    -- order of first appearance
    id              TEXT    NOT NULL UNIQUE, -- hash of the content
    label           TEXT    NOT NULL,       -- what a person would call it
    content         TEXT    NOT NULL,       -- JSON: server, runtime, config
    command         TEXT    NOT NULL,       -- environment and command line of the server
    server_version  TEXT    NOT NULL
) STRICT;

-- One row for each duel that ended, whatever the ending. Only 'scored' ones count.
CREATE TABLE duel (
    seq             INTEGER PRIMARY KEY,    -- position in the study, from 0
    phase           TEXT    NOT NULL CHECK (phase IN ('noise', 'screen', 'claim', 'total', 'compare', 'cell', 'sweep', 'search', 'whole')),
    subject         TEXT    NOT NULL,       -- the lever or rung of a claim, the cell, the threads of a sweep, else empty
    variant_a       TEXT    NOT NULL REFERENCES variant (id),
    variant_b       TEXT    NOT NULL REFERENCES variant (id),
    seed            TEXT    NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    wall_seconds    REAL    NOT NULL,       -- from the first clone to the last process ended
    load_seconds    REAL    NOT NULL,       -- of those under load, warm-up included
    score           REAL,                   -- ln(throughput of B / throughput of A), weighted by and adjusted for CPU time that others took
    cpu_score       REAL,                   -- the same of server CPU time per transaction
    p50_score       REAL,                   -- the same of the median latency
    p95_score       REAL,                   -- the same of the 95th percentile of latency
    couples         INTEGER NOT NULL,
    dropped_a       INTEGER NOT NULL,       -- couples dropped: disturbed during A's slice
    dropped_b       INTEGER NOT NULL,       -- couples dropped: disturbed during B's slice
    status          TEXT    NOT NULL CHECK (status IN ('scored', 'disturbed', 'failed')),
    failed_side     INTEGER CHECK (failed_side IN (0, 1)),   -- 0 = A, 1 = B
    reason          TEXT,                   -- why it failed: JSON with cause, details, remedies
    raw_score       REAL,                   -- score of the couples as measured: not weighted, not adjusted for CPU time taken
    p99_score       REAL                    -- as p95_score, of the 99th percentile
) STRICT;

-- One row for each slice of load on one side of a duel.
CREATE TABLE slice (
    duel                    INTEGER NOT NULL REFERENCES duel (seq),
    couple                  INTEGER NOT NULL,   -- within the duel, from 0
    side                    INTEGER NOT NULL CHECK (side IN (0, 1)),   -- 0 = A, 1 = B
    went_first              INTEGER NOT NULL,   -- 1: this side went first in its couple
    started_unix_ms         INTEGER NOT NULL,   -- start of the counted time
    seconds                 REAL    NOT NULL,   -- counted time
    transactions            INTEGER NOT NULL,   -- in the counted time
    queries                 INTEGER NOT NULL,   -- in the counted time
    errors                  TEXT    NOT NULL,   -- JSON: {"server error code": count}
    p50_us                  INTEGER NOT NULL,
    p95_us                  INTEGER NOT NULL,
    p99_us                  INTEGER NOT NULL,
    p999_us                 INTEGER NOT NULL,
    max_us                  INTEGER NOT NULL,
    server_cpu_seconds      REAL    NOT NULL,   -- over the whole slice, ramp and drain included
    client_cpu_seconds      REAL    NOT NULL,   -- over the whole slice
    transactions_whole      INTEGER NOT NULL,   -- over the whole slice, for the CPU figures
    client_context_switches INTEGER NOT NULL,
    server_context_switches INTEGER NOT NULL,
    steal                   REAL    NOT NULL,   -- share of CPU time stolen by the hypervisor, 0 to 1
    disturbed               INTEGER NOT NULL,   -- 1: of no use, its couple is dropped
    histogram               TEXT    NOT NULL,   -- HDR histogram of latencies, V2 deflate, base64
    taken                   REAL    NOT NULL,   -- share of CPU time taken by the hypervisor and other processes, 0 to 1
    generator_busy          REAL    NOT NULL,   -- CPU time of the load generator's busiest loop, share of the time under load
    PRIMARY KEY (duel, couple, side)
) STRICT, WITHOUT ROWID;

-- What the kernel and the server counted over one side's slices of a sweep.
CREATE TABLE account (
    duel    INTEGER NOT NULL,   -- kept just before the duel itself
    side    INTEGER NOT NULL CHECK (side IN (0, 1)),
    content TEXT    NOT NULL,   -- JSON
    PRIMARY KEY (duel, side)
) STRICT, WITHOUT ROWID;

-- What happened besides: a lever set aside, a side that failed, a resumption; what the study decided on its way.
CREATE TABLE event (
    id      INTEGER PRIMARY KEY,
    unix_ms INTEGER NOT NULL,
    content TEXT    NOT NULL    -- JSON: its code, and the fields that events of that code have
) STRICT;

-- Time used: a resumed study adds rows, and their sum is what its budget has spent.
CREATE TABLE run_time (
    id              INTEGER PRIMARY KEY,
    elapsed_seconds REAL NOT NULL,
    load_seconds    REAL NOT NULL
) STRICT;

-- What the study came to, as far as it came: one row, the newest.
CREATE TABLE summary (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    kind    TEXT    NOT NULL,   -- tune, compare, ladder, matrix, sweep
    content TEXT    NOT NULL    -- JSON
) STRICT;

-- Where a variant's time went: of `niagara profile`, and of the profiles at the ends of sweeps and tunings.
CREATE TABLE profile (
    position INTEGER PRIMARY KEY,   -- order in which they were taken
    subject  TEXT    NOT NULL UNIQUE, -- what was profiled, in words
    content  TEXT    NOT NULL       -- JSON, stacks included
) STRICT;

-- What replays of a capture did on the sides of duels, kept just before the duel itself.
CREATE TABLE replay (
    duel    INTEGER NOT NULL,
    side    INTEGER NOT NULL CHECK (side IN (0, 1)),
    content TEXT    NOT NULL,       -- JSON
    PRIMARY KEY (duel, side)
) STRICT, WITHOUT ROWID;

-- Slices with their variant's label and the usual rates.
CREATE VIEW slice_rate AS
SELECT s.duel, d.phase, d.subject, s.couple,
       CASE s.side WHEN 0 THEN 'A' ELSE 'B' END AS side,
       v.label, s.started_unix_ms, s.seconds,
       s.transactions / s.seconds AS tps,
       s.queries / s.seconds AS qps,
       1e6 * s.server_cpu_seconds / nullif(s.transactions_whole, 0) AS server_cpu_us_per_transaction,
       1e6 * s.client_cpu_seconds / nullif(s.transactions_whole, 0) AS client_cpu_us_per_transaction,
       s.p50_us, s.p95_us, s.p99_us, s.p999_us, s.max_us, s.steal, s.disturbed
  FROM slice s
  JOIN duel d ON d.seq = s.duel
  JOIN variant v ON v.id = CASE s.side WHEN 0 THEN d.variant_a ELSE d.variant_b END;
