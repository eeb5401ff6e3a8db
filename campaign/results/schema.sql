-- The campaign's database: an index of journal.jsonl and of the raw outputs under runs/, rebuilt from them when it is lost.
-- Every column is described in docs/formats.md. No STRICT tables: the SQLite of RHEL 8 and 9 is older than 3.37.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE jobs (
    name      TEXT PRIMARY KEY,       -- unique for all time: it carries a random token
    job_id    TEXT,                   -- NULL until Slurm's answer is on record
    target    TEXT NOT NULL,
    submitter TEXT NOT NULL,          -- host:pid:start of the driver that called sbatch
    created   REAL NOT NULL,          -- seconds since 1970
    message   TEXT NOT NULL DEFAULT ''
);

CREATE TABLE attempts (
    run         TEXT NOT NULL,
    number      INTEGER NOT NULL,
    token       TEXT NOT NULL,
    job         TEXT NOT NULL REFERENCES jobs (name),
    fingerprint TEXT NOT NULL,
    state       TEXT NOT NULL,
    reason      TEXT NOT NULL DEFAULT '',
    started     REAL,
    ended       REAL,
    files       TEXT NOT NULL DEFAULT '{}', -- their SHA-256 at the attempt's end, by name, as JSON
    PRIMARY KEY (run, number)
);

CREATE TABLE records (
    run             TEXT NOT NULL,
    attempt         INTEGER NOT NULL,
    operation       TEXT NOT NULL,
    value           REAL NOT NULL,
    unit            TEXT NOT NULL,
    file            TEXT NOT NULL,    -- raw output, relative to the campaign's results
    line            INTEGER NOT NULL, -- from 1
    minimum         REAL,
    mean            REAL,
    stddev          REAL,
    iterations      INTEGER NOT NULL,
    true_value      REAL,
    of_fastest      INTEGER NOT NULL,
    operations_done INTEGER,
    files_true      INTEGER,
    elapsed_s       REAL,
    remote_share    REAL,
    rank_fastest    REAL,
    rank_median     REAL,
    rank_slowest    REAL,
    cached_share    REAL,
    dirty_share     REAL,
    start_skew_s    REAL,
    moved_bytes     INTEGER,
    statistic       TEXT NOT NULL,
    each            TEXT NOT NULL,    -- the iterations, as JSON
    PRIMARY KEY (run, attempt, operation),
    FOREIGN KEY (run, attempt) REFERENCES attempts (run, number)
);

CREATE TABLE observations (
    run     TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    data    TEXT NOT NULL,            -- Observation as JSON
    PRIMARY KEY (run, attempt),
    FOREIGN KEY (run, attempt) REFERENCES attempts (run, number)
);

-- What several attempts share, by the SHA-256 of its JSON: on many nodes it is large.
CREATE TABLE shared (
    digest TEXT PRIMARY KEY,
    data   TEXT NOT NULL
);

CREATE TABLE evidence (
    run         TEXT NOT NULL,
    attempt     INTEGER NOT NULL,
    environment TEXT NOT NULL REFERENCES shared (digest),  -- facts.Environment of its job, without the facts
    facts       TEXT NOT NULL REFERENCES shared (digest),  -- Environment.facts
    witness     TEXT NOT NULL REFERENCES shared (digest),  -- facts.Witness
    data        TEXT NOT NULL,        -- facts.Evidence as JSON, without these and the accounting
    digest      TEXT NOT NULL,        -- SHA-256 of these, the records and the observation
    PRIMARY KEY (run, attempt),
    FOREIGN KEY (run, attempt) REFERENCES attempts (run, number)
);

CREATE TABLE accounting (
    job      TEXT PRIMARY KEY REFERENCES jobs (name),
    is_final INTEGER NOT NULL,        -- whether Slurm is not asked again
    data     TEXT NOT NULL            -- facts.Accounting as JSON
);

-- What `status` and `table` need not judge again. `check`, `bundle` and `verify` never read it.
CREATE TABLE judgements (
    subject TEXT PRIMARY KEY,         -- RUN/NUMBER of an attempt, campaign, or journal (whether it is a chain)
    key     TEXT NOT NULL,            -- SHA-256 of everything that the judgement depends on
    data    TEXT NOT NULL,            -- the findings, and of the campaign the rows, as JSON
    digest  TEXT NOT NULL             -- SHA-256 of key and data
);

-- Each submission changes the attempts of one job.
CREATE INDEX attempts_of_job ON attempts (job);

CREATE VIEW numbers AS
SELECT r.run, r.attempt, j.job_id, r.operation, r.value, r.unit, r.file, r.line, a.state
FROM records r
JOIN attempts a ON a.run = r.run AND a.number = r.attempt
JOIN jobs j ON j.name = a.job;
