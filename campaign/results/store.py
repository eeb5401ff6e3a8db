"""The campaign's SQLite database: the only SQL of the project.

It is an index: the journal records what the driver did, the attempts' folders what resulted. Opening the database
updates it to the journal's end, and a deleted one is rebuilt. Only drivers open it, never jobs. No WAL, which network
file systems do not support; a write holds the only lock, so that two drivers of one campaign take turns.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from campaign.core import atomic, journal, untrusted
from campaign.core.decode import decode, dumps
from campaign.core.errors import EnvironmentLacks, MachineLacks, NoRoom, pass_on_limit
from campaign.core.events import START, Event
from campaign.core.frozen import replace
from campaign.core.grouping import grouped
from campaign.core.paths import Paths
from campaign.core.records import Outputs, Record
from campaign.core.runs import Attempt, Planned, State
from campaign.results.environment.facts import Accounting, Environment, Evidence, Facts, Witness
from campaign.results.file_hashes import digests
from campaign.results.stored_rows import RECORD_COLUMNS, AttemptRows, stored_attempt, stored_record

SCHEMA = Path(__file__).with_name("schema.sql")
FORMAT = 15  # of these tables: the database's user_version
LOCK_TIMEOUT_S = 180.0  # `collect` of a large campaign holds it for more than a minute
RECOVERY_TIMEOUT_S = 5.0  # a driver at work holds it for less than that at a time

# What an event of the journal changes in the tables; other events are only history.
_PROJECTION: Mapping[str, tuple[str, ...]] = {
    "job": ("INSERT INTO jobs (name, target, submitter, created) VALUES (:job, :target, :submitter, :time)",),
    "submitted": (
        "UPDATE jobs SET job_id = :job_id, message = :message WHERE name = :job",
        f"UPDATE attempts SET state = '{State.PENDING}' WHERE job = :job AND state = '{State.SUBMITTING}'",
    ),
    "uncertain": ("UPDATE jobs SET message = :message WHERE name = :job",),
    "ended": (
        "UPDATE attempts SET state = :state, reason = :reason, started = :started, ended = :ended, files = :files "
        "WHERE run = :run AND number = :number",
    ),
    "cancel": ("INSERT OR REPLACE INTO meta VALUES ('cancelled', :time)",),
}

# What this connection changes of attempts, in a table that no other one sees.
_WATCH = (
    "PRAGMA temp_store = MEMORY",
    "CREATE TEMP TABLE IF NOT EXISTS changed (run TEXT, number INTEGER, PRIMARY KEY (run, number))",
    "DELETE FROM changed",
    *(
        f"CREATE TEMP TRIGGER IF NOT EXISTS changed_by_{action} AFTER {action} ON attempts BEGIN "
        "INSERT OR IGNORE INTO changed VALUES (new.run, new.number); END"
        for action in ("INSERT", "UPDATE")
    ),
)
_INSERT_RECORD = f"INSERT INTO records ({', '.join(RECORD_COLUMNS)}) VALUES ({', '.join('?' * len(RECORD_COLUMNS))})"
_ACTIVE = ", ".join(f"'{state}'" for state in State if state.active)
_SELECT_ATTEMPTS = (
    "SELECT a.run, a.number, a.token, a.job, a.fingerprint, a.state, a.reason, j.job_id, j.created, a.started, "
    "a.ended FROM attempts a JOIN jobs j ON j.name = a.job "
)

MOST_RUNS = 900  # in a condition: SQLite before 3.32 takes 999 values in a statement

RecordNames = Mapping[tuple[str, int], Sequence[str]]  # by run and number of the attempt


def _new_file(path: Path) -> Path:
    """Creates an empty file of this name; where that is in use, even by a link, with .2 or a higher number after it."""
    for number in itertools.count(1):
        free = path if number == 1 else path.with_name(f"{path.name}.{number}")
        try:
            os.close(os.open(free, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644))
        except FileExistsError:
            continue
        except OSError as error:
            pass_on_limit(error)
            raise EnvironmentLacks(f"{free}: cannot be written: {error.strerror}") from error
        break
    return free


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as the driver knows it. `submitter` is the driver's host:pid:start."""

    name: str
    job_id: str | None
    target: str
    submitter: str
    created: float
    message: str


class Store(AbstractContextManager["Store"]):
    """Opens or creates the database of a campaign; of results that may only be read, one in memory. `in_memory`: by
    the journal alone, whatever the database says. `damaged`: without the journal, for `recover`.

    Raises EnvironmentLacks where the file system cannot carry it.
    """

    def __init__(self, paths: Paths, in_memory: bool = False, damaged: bool = False) -> None:
        self._paths = paths
        self._journal = paths.journal
        self._path = paths.database
        self.chain: journal.Chain | None = None  # of the journal, where the last reading began with its first line
        self._unsynced = False  # whether the disk may lack events of this transaction
        self._version: int | None = None  # of what other connections have written, when changes were last read
        _refuse_directories(paths)
        try:
            paths.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EnvironmentLacks(f"{error.filename}: {error.strerror}") from error
        # Somebody else's campaign, or one on a read-only medium, can be shown from its journal.
        self.in_memory = in_memory or not os.access(paths.root, os.W_OK)
        with self._storage_errors():
            place = ":memory:" if self.in_memory else self._path
            if not self.in_memory and self._path.exists() and not os.access(self._path, os.R_OK | os.W_OK):
                raise EnvironmentLacks(
                    f"no permission to read and write the database {self._path}; change its permissions, or move it "
                    "away: no data is lost, the next command rebuilds it"
                )
            timeout_s = RECOVERY_TIMEOUT_S if damaged else LOCK_TIMEOUT_S
            self._db = sqlite3.connect(place, timeout=timeout_s, isolation_level=None)
        try:
            self._db.row_factory = sqlite3.Row
            if not self.in_memory:
                self._set_aside()
            self._sql("PRAGMA foreign_keys = ON")
            # Half the syncs. An index damaged by a power failure is rebuilt from the journal.
            self._sql("PRAGMA synchronous = NORMAL")
            if not damaged:
                with self.transaction():
                    pass
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        self._db.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Holds the write lock: what is read inside stays true until its end, for other drivers too. At its end,
        everything recorded inside is on disk, with a single sync.

        It begins at the journal's end, where another driver may have written an event without storing it.
        """
        if self._db.in_transaction:
            yield
            return
        self._sql("BEGIN IMMEDIATE")
        with self._committed():
            self._create()
            self._catch_up()
            try:
                yield
            finally:
                if self._unsynced:
                    journal.sync(self._journal)
                    self._unsynced = False

    @contextmanager
    def _committed(self) -> Iterator[None]:
        """Ends a transaction: with everything done inside, or with none of it."""
        try:
            yield
            self._sql("COMMIT")
        except BaseException:
            self._db.rollback()
            raise

    def _sql(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[sqlite3.Row]:
        with self._storage_errors():
            return self._db.execute(statement, values).fetchall()

    @contextmanager
    def _storage_errors(self) -> Iterator[None]:
        """Turns SQLite's errors, and unreadable content, into errors that say what to do."""
        try:
            yield
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", None)  # none of what Python finds, such as a text's encoding
            if code in (None, sqlite3.SQLITE_ERROR):  # the latter: a table or a column is missing
                raise _damaged_error(self._path, error) from error
            if code == sqlite3.SQLITE_FULL:
                raise NoRoom(
                    f"{self._path}: No space left on device; nothing is lost: free space, then run the same command "
                    "again"
                ) from error
            raise MachineLacks(
                f"cannot use the database {self._path} ({error}): the file system is full, beyond your quota, or lacks "
                "file locks; set 'results' in the campaign file to another file system"
            ) from error
        except (sqlite3.DatabaseError, ValueError, KeyError, TypeError, AttributeError) as error:
            is_database_error = isinstance(error, sqlite3.DatabaseError)
            problem = error if is_database_error else f"unreadable content: {error!r:.80}"
            raise _damaged_error(self._path, problem) from error

    # --- the journal and its projection

    def _set_aside(self) -> None:
        """Copies the database of another version, and empties it: the journal and the raw outputs have what was in it.
        It stays the same file, whose lock a driver of that version uses too.
        """
        version = self._format_version()
        if version in (0, FORMAT):
            return
        with atomic.locked(self._paths.root) as refused:
            if isinstance(refused, BlockingIOError) and self._format_version() == version:
                raise EnvironmentLacks(
                    f"{self._path} is the index of another version of campaign (format {version}; this version uses "
                    f"{FORMAT}), and a 'campaign run' is working with it: wait until that command has ended, or "
                    "interrupt it, which cancels no job; then run this command again"
                )
        kept_copy = _new_file(self._path.with_name(f"{self._path.name}.format-{version}"))
        try:
            with self._storage_errors(), closing(sqlite3.connect(kept_copy)) as copy:
                self._db.backup(copy)
            self._sql("BEGIN IMMEDIATE")
            with self._committed():
                is_first = self._format_version() == version
                if is_first:
                    for kind, name in self._sql("SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view')"):
                        self._sql(f'DROP {kind} "{name}"')
                    self._sql("PRAGMA user_version = 0")
        except BaseException:
            kept_copy.unlink(missing_ok=True)
            raise
        if not is_first:  # another command was faster, and has its own copy
            kept_copy.unlink(missing_ok=True)
            return
        print(
            f"{self._path} is the index of another version of campaign (format {version}; this version uses {FORMAT}): "
            f"kept as {kept_copy.name}, and rebuilt",
            file=sys.stderr,
        )

    def _format_version(self) -> int:
        return int(self._sql("PRAGMA user_version")[0][0])

    def _create(self) -> None:
        """Creates the tables of a new database."""
        version = self._format_version()
        if version == FORMAT:
            return
        if version != 0:
            raise EnvironmentLacks(
                f"another version of campaign has rebuilt {self._path} meanwhile (format {version}; this version uses "
                f"{FORMAT}): run this command again, and use one version at a time"
            )
        # executescript would commit and give up the lock in between.
        for statement in SCHEMA.read_text(encoding="utf-8").split(";\n"):
            self._sql(statement)
        self._sql(f"PRAGMA user_version = {FORMAT}")

    def _meta(self, key: str, default: str) -> str:
        rows = self._sql("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else default

    @property
    def head(self) -> str:
        """The hash of the journal's last line; "" if it has none."""
        return self._meta("journal_hash", "")

    def note_altered(self, attempts: Set[tuple[str, int]]) -> set[tuple[str, int]]:
        """Record that the files of these attempts are not as they were at their end; gives those that were recorded so
        and are no longer, of which results may be stored that nobody finds in their files.
        """
        earlier_attempts = set(map(tuple, json.loads(self._meta("altered", "[]"))))
        if attempts != earlier_attempts:
            self._sql("INSERT OR REPLACE INTO meta VALUES ('altered', ?)", (json.dumps(sorted(attempts)),))
        return earlier_attempts - attempts

    def read_as(self, form: str) -> bool:
        """Whether the stored results were read by this description of outputs; records it."""
        stored_form = self._meta("read_as", form)
        if stored_form != form or not self._meta("read_as", ""):
            self._sql("INSERT OR REPLACE INTO meta VALUES ('read_as', ?)", (form,))
        return stored_form == form

    def _catch_up(self) -> None:
        offset = int(self._meta("journal_offset", "0"))
        size = self._journal.stat().st_size if self._journal.exists() else 0
        if size == offset:
            return
        if size < offset and not self._journal.exists():
            raise EnvironmentLacks(
                f"the journal {self._journal} is missing, and {self._path.name} cannot replace it: restore it from a "
                "backup, or move the results directory away and run the campaign again"
            )
        if size < offset:
            chain = journal.read_chain(self._journal)
            if chain.problem and not chain.cut_off:
                raise EnvironmentLacks(
                    f"the journal {self._journal} is damaged: {chain.problem}: {journal.RESTORE}; or move "
                    f"{self._paths.root} away and run the campaign again"
                )
            cut = f"; {chain.problem}" if chain.problem else ""
            raise EnvironmentLacks(
                f"the journal {self._journal} is shorter than before ({size} of {offset} bytes{cut}): {journal.RESTORE}"
            )
        reading = journal.Reading(self._journal, offset, self._meta("journal_hash", START))
        for event in reading:
            if event["event"] in _PROJECTION:
                self._apply(event)
        for key, value in (("journal_hash", reading.previous), ("journal_offset", str(reading.offset))):
            self._sql("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
        self.chain = reading.chain if offset == 0 else None

    def rebuild(self) -> None:
        """Delete everything and read the journal again from its first line, with its chain, unless that was just done.
        Results are lost.
        """
        with self.transaction():
            if self.chain is None:
                self._forget()
                self._catch_up()

    def _forget(self) -> None:
        results = ("judgements", "evidence", "shared", "accounting", "observations", "records")
        for table in (*results, "attempts", "jobs", "meta"):
            self._sql(f"DELETE FROM {table}")

    @classmethod
    def recover(cls, paths: Paths, rewrite: Callable[[int], bool]) -> None:
        """Have another journal take the place of a damaged one, under the write lock. `rewrite` gets how many bytes of
        the damaged one were read once, and gives whether there is another one now, which is read from its first line.

        Raises EnvironmentLacks where another command holds the lock.
        """
        with cls(paths, damaged=True) as store:
            if store.in_memory:
                raise EnvironmentLacks(f"{paths.root}: no permission to write, so that nothing can be recovered")
            try:
                store._db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
                    raise
                raise EnvironmentLacks(
                    f"{paths.database} is locked: another campaign command is at work; wait until it has ended, or "
                    "stop it; nothing was changed"
                ) from error
            with store._committed():
                store._create()
                if rewrite(int(store._meta("journal_offset", "0"))):
                    store._forget()
                    store._catch_up()

    def _apply(self, event: Event) -> None:
        values = {**event, "files": json.dumps(event.get("files", {}))}  # of an attempt's end
        for statement in _PROJECTION[event["event"]]:
            self._sql(statement, values)
        for attempt in event["attempts"] if event["event"] == "job" else ():
            self._sql(
                "INSERT INTO attempts (run, number, token, fingerprint, job, state) "
                "VALUES (:run, :number, :token, :fingerprint, :job, :state)",
                {**attempt, "job": event["job"], "state": State.SUBMITTING},
            )

    # --- what the driver does

    def plan_job(
        self, job: str, target: str, submitter: str, attempts: Sequence[Planned], version: str, templates: str
    ) -> None:
        """Recorded before sbatch is called: from now on, a job with this name may exist. `version` and `templates`:
        what rendered its script, as in `Chain.rendered`.
        """
        steps = [
            {
                "run": attempt.run.id,
                "number": attempt.number,
                "token": attempt.token,
                "fingerprint": attempt.run.fingerprint,
            }
            for attempt in attempts
        ]
        rendered = {"version": version, "templates": templates}
        self.note("job", job=job, target=target, submitter=submitter, attempts=steps, **rendered)

    def submitted(self, job: str, job_id: str, message: str) -> None:
        self.note("submitted", job=job, job_id=job_id, message=message)

    def record_end(
        self, attempt: Attempt, state: State, reason: str, started: float | None = None, ended: float | None = None
    ) -> None:
        """Record how an attempt ended, with the hashes of its raw outputs, so that the journal's head covers them. A
        second end of the same attempt (seen by two drivers) is not recorded.
        """
        with self.transaction():
            if self.attempt(attempt.run, attempt.number).state.active:
                files = digests(self._paths.attempt(attempt.run, attempt.number))
                word = {"state": state, "reason": reason, "started": started, "ended": ended, "files": files}
                self.note("ended", run=attempt.run, number=attempt.number, **word)

    def begin(self, **details: Any) -> None:
        """Record the journal's first event, if it has none yet."""
        with self.transaction():
            if self._meta("journal_offset", "0") == "0":
                self.note("begin", **details)

    def note(self, event: str, **details: Any) -> None:
        """Record an event, and apply it to the tables."""
        with self.transaction():
            journal.append(self._journal, {"event": event, **details}, self._meta("journal_hash", START))
            self._unsynced = True
            self._catch_up()

    def observe_state(self, attempt: Attempt, state: State, reason: str) -> None:
        """What Slurm reports about an attempt that has not ended: transient, hence not in the journal."""
        self._sql(
            "UPDATE attempts SET state = ?, reason = ? WHERE run = ? AND number = ? AND state IN (?, ?, ?)",
            (state, reason, attempt.run, attempt.number, State.SUBMITTING, State.PENDING, State.RUNNING),
        )

    # --- reading

    def _attempts(
        self, condition: str = "", values: Sequence[Any] = (), order: str = "a.run, a.number"
    ) -> list[Attempt]:
        with self._storage_errors():
            rows = self._sql(f"{_SELECT_ATTEMPTS} {condition} ORDER BY {order}", values)
            return [stored_attempt(row) for row in rows]

    def attempts(self) -> list[Attempt]:
        """All attempts, by run and number."""
        return self._attempts()

    def under_way(self) -> list[Attempt]:
        """The attempts that have not ended, by run and number."""
        return self._attempts(f"WHERE a.state IN ({_ACTIVE})")

    def watch(self) -> list[Attempt]:
        """Have `changed_attempts` begin now. Gives the attempts that have not ended, in the order of submission."""
        for statement in _WATCH:
            self._sql(statement)
        (self._version,) = self._sql("PRAGMA data_version")[0]
        return self._attempts(f"WHERE a.state IN ({_ACTIVE})", order="a.rowid")

    def changed_attempts(self) -> list[Attempt]:
        """The attempts that may have changed since the last call, in the order of submission: all, if another process
        has written.
        """
        (version,) = self._sql("PRAGMA data_version")[0]
        is_own, self._version = version == self._version, version
        if is_own and not self._sql("SELECT 1 FROM changed LIMIT 1"):
            return []
        condition = "WHERE (a.run, a.number) IN (SELECT run, number FROM changed)" if is_own else ""
        attempts = self._attempts(condition, order="a.rowid")
        self._sql("DELETE FROM changed")
        return attempts

    def ended_count(self) -> int:
        """How many attempts have ended."""
        return int(self._sql(f"SELECT count(*) FROM attempts WHERE state NOT IN ({_ACTIVE})")[0][0])

    def attempt(self, run: str, number: int) -> Attempt:
        return self._attempts("WHERE a.run = ? AND a.number = ?", (run, number))[0]

    def cancelled(self) -> str:
        """When `campaign cancel` was last called; "" if never."""
        return self._meta("cancelled", "")

    def jobs(self) -> dict[str, StoredJob]:
        return {job.name: job for job in self._jobs("ORDER BY created")}

    def job(self, name: str) -> StoredJob:
        return self._jobs("WHERE name = ?", (name,))[0]

    def _jobs(self, condition: str, values: Sequence[Any] = ()) -> list[StoredJob]:
        rows = self._sql(f"SELECT name, job_id, target, submitter, created, message FROM jobs {condition}", values)
        return [StoredJob(**dict(row)) for row in rows]

    # --- results

    def save_results(self, results: AttemptRows) -> None:
        """Replace what is stored for an attempt."""
        key = (results.run, results.attempt)
        with self.transaction():
            self._sql("DELETE FROM records WHERE run = ? AND attempt = ?", key)
            with self._storage_errors():
                self._db.executemany(_INSERT_RECORD, results.records)
                self._db.executemany("INSERT OR IGNORE INTO shared VALUES (?, ?)", results.shared)
            self._sql("INSERT OR REPLACE INTO observations VALUES (?, ?, ?)", (*key, results.outputs))
            shared_digests = [digest for digest, _ in results.shared]
            digest = sha256_of(results.records, results.outputs, shared_digests, results.evidence)
            self._sql(
                "INSERT OR REPLACE INTO evidence VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*key, *shared_digests, results.evidence, digest),
            )

    def save_accounting(self, job: str, accounting: Accounting) -> None:
        """Store Slurm's final record of a job."""
        self._sql("INSERT OR REPLACE INTO accounting VALUES (?, ?, ?)", (job, accounting.is_final, dumps(accounting)))

    def closed_jobs(self) -> set[str]:
        """The names of the jobs with a final record."""
        return {job for (job,) in self._sql("SELECT job FROM accounting WHERE is_final")}

    def accounting(self) -> dict[str, Accounting]:
        """Slurm's accounting of each job, by its name."""
        with self._storage_errors():
            rows = self._sql("SELECT job, data FROM accounting")
            return {job: decode(Accounting, json.loads(data)) for job, data in rows}

    def evidence(self, runs: Sequence[str] | None = None) -> dict[tuple[str, int], Evidence]:
        """What the job and Slurm recorded around each execution, of some or all runs, by (run, attempt)."""

        @functools.cache
        def read(kind: Any, digest: str) -> Any:
            ((data,),) = self._sql("SELECT data FROM shared WHERE digest = ?", (digest,))
            return decode(kind, json.loads(data))

        @functools.cache
        def environment(digest: str, of_nodes: str) -> Environment:
            shared_environment: Environment = read(Environment, digest)
            return replace(shared_environment, facts=read(Facts, of_nodes))

        @functools.cache
        def accounting(job: str) -> Accounting | None:
            rows = self._sql("SELECT data FROM accounting WHERE job = ?", (job,))
            return decode(Accounting, json.loads(rows[0][0])) if rows else None

        with self._storage_errors():
            rows = self._db.execute(
                "SELECT e.run, e.attempt, e.environment, e.facts, e.witness, e.data, a.job FROM evidence e "
                f"JOIN attempts a ON a.run = e.run AND a.number = e.attempt {_of_runs('e.run', runs)}",
                runs or (),
            )
            return {
                (run, attempt): replace(
                    decode(Evidence, json.loads(data)),
                    environment=environment(digest, of_nodes),
                    witness=read(Witness, witness),
                    accounting=accounting(job),
                )
                for run, attempt, digest, of_nodes, witness, data, job in rows
            }

    def records(self, runs: Sequence[str] | None = None) -> dict[tuple[str, int], tuple[Record, ...]]:
        """All records, or those of some runs, by (run, attempt)."""
        with self._storage_errors():
            columns = ", ".join(RECORD_COLUMNS)
            rows = self._db.execute(f"SELECT {columns} FROM records {_of_runs('run', runs)} ORDER BY rowid", runs or ())
            return {key: tuple(records) for key, records in grouped(map(stored_record, rows)).items()}

    def record_names(self) -> RecordNames:
        """The names of all records."""
        return grouped((tuple(key), name) for *key, name in self._sql("SELECT run, attempt, operation FROM records"))

    def records_of(self, run: str, attempt: int) -> tuple[Record, ...]:
        """The records of one attempt."""
        return self.records([run]).get((run, attempt), ())

    def observations(self, runs: Sequence[str] | None = None) -> dict[tuple[str, int], Outputs]:
        """What the output of each phase says besides its numbers, of some or all runs, by (run, attempt)."""
        statement, kind = f"SELECT run, attempt, data FROM observations {_of_runs('run', runs)}", cast(Any, Outputs)
        with self._storage_errors():
            rows = self._db.execute(statement, runs or ())
            return {(run, attempt): decode(kind, json.loads(data)) for run, attempt, data in rows}

    def result_digests(self) -> dict[tuple[str, int], str]:
        """What stands for everything that was read of an attempt's outputs and of its job's accounting, by (run,
        attempt).
        """
        accounting = {job: sha256_of(data) for job, data in self._sql("SELECT job, data FROM accounting")}
        rows = self._sql(
            "SELECT e.run, e.attempt, e.digest, a.job FROM evidence e "
            "JOIN attempts a ON a.run = e.run AND a.number = e.attempt ORDER BY e.run, e.attempt"
        )
        return {(run, attempt): f"{digest} {accounting.get(job, '')}" for run, attempt, digest, job in rows}

    def files(self) -> Iterator[tuple[str, int, str, Iterable[str]]]:
        """Run and number of each attempt, with the SHA-256 of its files at its end, as JSON, and their names; none
        while it has not ended.
        """
        with self._storage_errors():
            for run, number, files in self._db.execute("SELECT run, number, files FROM attempts ORDER BY run, number"):
                yield run, number, files, json.loads(files)

    # --- kept judgements

    def judgement(self, subject: str, key: str) -> str:
        """The judgement of an attempt or of the campaign that was kept under this key; "" if there is none, or if it
        was changed.
        """
        rows = self._sql("SELECT data, digest FROM judgements WHERE subject = ? AND key = ?", (subject, key))
        return next((data for data, digest in rows if digest == sha256_of(key, data)), "")

    def kept_keys(self) -> dict[str, str]:
        """The key of each kept judgement, by its subject."""
        return dict(map(tuple, self._sql("SELECT subject, key FROM judgements")))

    def keep_judgements(self, judgements: Mapping[str, tuple[str, str]]) -> None:
        """Keep judgements by their subjects, each with its key, in place of earlier ones."""
        rows = [(subject, key, data, sha256_of(key, data)) for subject, (key, data) in judgements.items()]
        with self.transaction(), self._storage_errors():
            self._db.executemany("INSERT OR REPLACE INTO judgements VALUES (?, ?, ?, ?)", rows)

    def journal_problem(self) -> str:
        """Why the journal is no chain; "" if it is. It is not read again while it has the bytes that were one."""
        digest = untrusted.digest(self._journal)
        if self.judgement("journal", digest):
            return ""
        if problem := journal.read_chain(self._journal).problem:
            return problem
        with suppress(EnvironmentLacks):
            self.keep_judgements({"journal": (digest, "a chain")})
        return ""

    def unread_attempts(self) -> list[Attempt]:
        """The ended attempts without stored results, as long as one of them is done: others may have none. Those that
        are done come last.
        """
        lacking = "NOT EXISTS (SELECT 1 FROM observations o WHERE o.run = a.run AND o.attempt = a.number)"
        attempts = self._attempts(f"WHERE a.state NOT IN ({_ACTIVE}) AND {lacking}", order="a.rowid")
        attempts.sort(key=lambda attempt: attempt.state is State.DONE)
        return attempts if attempts and attempts[-1].state is State.DONE else []


def is_begun(paths: Paths) -> bool:
    """Whether a campaign has recorded anything. Raises EnvironmentLacks if only the database is left, or something else
    is in its place.
    """
    _refuse_directories(paths)
    if not paths.journal.exists() and paths.database.exists():
        with Store(paths):
            pass
    return paths.journal.exists()


def _refuse_directories(paths: Paths) -> None:
    """Raises EnvironmentLacks if something else is in the place of the journal or of the database."""
    if os.path.isdir(paths.journal):  # noqa: PTH112  # never raises, as Path.is_dir does
        raise EnvironmentLacks(
            f"{paths.journal} is a directory, where the journal must be: restore the journal from a backup; without "
            f"one, move {paths.root} away and run the campaign again"
        )
    if os.path.isdir(paths.database):  # noqa: PTH112
        raise EnvironmentLacks(
            f"{paths.database} is a directory, where the database must be; no data is lost: move it away, and the next "
            "command rebuilds the database"
        )
    with suppress(FileNotFoundError, NotADirectoryError), paths.journal.open("rb"):
        pass  # the error about an unreadable one names it


def _of_runs(column: str, runs: Sequence[str] | None) -> str:
    """The condition that a column has one of these runs."""
    return "" if runs is None else f"WHERE {column} IN ({', '.join('?' * len(runs))})"


def sha256_of(*values: Any) -> str:
    """The hash of values whose `repr` has all that they are."""
    return hashlib.sha256(repr(values).encode(errors="surrogatepass")).hexdigest()


def _damaged_error(database: Path, problem: object) -> EnvironmentLacks:
    return EnvironmentLacks(
        f"the database {database} is damaged ({problem}); no data is lost: move the file away and run "
        "'campaign collect FILE' to rebuild it"
    )
