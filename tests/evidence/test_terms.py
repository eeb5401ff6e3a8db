"""The buyer's terms: what they demand, and what they accept by name."""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from campaign.config.system import SYSTEM
from campaign.core import bagit, resources, signatures
from campaign.core.errors import InputError
from campaign.core.findings import Finding, Move, Severity
from campaign.core.runs import Cell
from campaign.evidence import bundle, terms, verify
from campaign.evidence.terms import OfferTerms
from campaign.sandbox.cluster import Sandbox
from tests.support import bundled, command_line, reference, source_trees
from tests.support.cases import Case, new_target

CELLS = tuple(Cell("scratch", launch, "shared", "stat") for launch in ("single", "node"))
EXPLAINED = Finding("RUN-08", Severity.WARNING, "campaign", "attempts are missing", explained="they were  cancelled")
PRELOAD = Finding(
    "SRC-05",
    Severity.ERROR,
    "campaign",
    "{name} loads {library}",
    actual="/opt/darshan/lib.so",
    move=Move.BUYER,
    values={"name": "LD_PRELOAD", "library": "/opt/darshan/lib.so:/opt/x.so"},
)
ENTRY = (
    "accept:\n  - {rule: RUN-08, cells: 'scratch/*/*/*', text: they were cancelled, by: A. Buyer, date: '2026-11-26'}\n"
)


def write_terms(tmp_path: Path, further_text: str = "", nonce: str = "RFP-1") -> Path:
    (tmp_path / "signers").write_text(reference.SIGNERS.read_text())
    path = tmp_path / "terms.yaml"
    path.write_text(
        terms.new_terms("crossroads-mdtest", path).replace("<a random word that you issue>", nonce) + further_text
    )
    return path


def entries(output: str) -> str:
    """What `verify` prints for copying into terms."""
    return output.split("in the form of your terms:\n")[1].split("\nNOT YET")[0] + "\n"


def enter(path: Path, entry_text: str) -> None:
    """Add entries to terms, with a name and a day."""
    with path.open("a") as file:
        file.write(re.sub('by: "", date: ""', 'by: A. Buyer, date: "2026-11-26"', entry_text))


def load_terms(tmp_path: Path, further_text: str = "") -> OfferTerms:
    return terms.load(write_terms(tmp_path, further_text))


def test_new_terms_are_read_as_they_are_written_once_the_nonce_is_filled_in(tmp_path: Path) -> None:
    process = command_line.call("terms", "init", "terms.yaml", "--rules", "crossroads-mdtest", cwd=tmp_path)
    assert (process.returncode, "wrote terms.yaml" in process.stdout) == (0, True)
    assert command_line.call("terms", "init", "terms.yaml", cwd=tmp_path).returncode == 2
    (tmp_path / "other").mkdir()
    terms = load_terms(tmp_path / "other")
    assert (terms.rules, terms.version, terms.nonce, terms.proof) == ("crossroads-mdtest", 1, "RFP-1", ("nonce",))
    assert terms.signers == tmp_path / "other/signers"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("signers: signers", "signers: absent", "absent does not exist"),
        ("nonce: RFP-1\n", "", "asks for a nonce, and nonce is missing"),
        ("proof: [nonce]", "proof: [timestamp]", "asks for a timestamp, and authority is missing"),
        ("proof: [nonce]", "proof: [luck]", "luck"),
        ("nonce: RFP-1", "nonce: <a random word that you issue>", 'nonce: found "<a random word that you issue>"'),
    ],
)
def test_terms_that_cannot_hold_are_refused_with_their_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    path = write_terms(tmp_path)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=rf"terms\.yaml:\d+.*{problem}"):
        terms.load(path)


def test_an_explanation_is_accepted_word_by_word_in_the_cells_that_are_named(tmp_path: Path) -> None:
    terms = load_terms(tmp_path, ENTRY)
    assert terms.accepted_by(EXPLAINED, CELLS) == "A. Buyer, 2026-11-26"
    assert terms.accepted_by(replace(EXPLAINED, explained="they were cancelled by us"), CELLS) == ""
    assert terms.accepted_by(EXPLAINED, (*CELLS, Cell("nfs", "single", "shared", "stat"))) == ""
    assert terms.accepted_by(replace(EXPLAINED, rule="RUN-01"), CELLS) == ""


def test_what_the_campaign_file_says_of_one_library_lifts_no_other(tmp_path: Path) -> None:
    finding = replace(PRELOAD, explained="named in the campaign file (slurm.environment)")
    text = json.dumps(finding.acceptance_text)
    entry = f"accept:\n  - {{rule: SRC-05, text: {text}, by: A. Buyer, date: '2026-11-26'}}\n"
    terms = load_terms(tmp_path, entry)
    assert terms.accepted_by(finding, CELLS) == "A. Buyer, 2026-11-26"
    other = replace(finding, values={**finding.values, "library": "/opt/shim.so"}, actual="/opt/shim.so")
    assert terms.accepted_by(other, CELLS) == ""


def test_a_finding_about_cells_of_several_entries_is_accepted_by_these_together(tmp_path: Path) -> None:
    two_entries = ENTRY.replace("scratch/*/*/*", "*/single/*/*") + ENTRY.splitlines()[1].replace(
        "scratch/*/*/*", "*/node/*/*"
    )
    assert load_terms(tmp_path, two_entries).accepted_by(EXPLAINED, CELLS) == "A. Buyer, 2026-11-26"
    assert load_terms(tmp_path, two_entries.replace("*/node/*/*", "*/peak/*/*")).accepted_by(EXPLAINED, CELLS) == ""


def test_a_finding_about_the_bundle_which_concerns_no_cell_is_accepted_by_its_words(tmp_path: Path) -> None:
    assert load_terms(tmp_path, ENTRY).accepted_by(EXPLAINED, ()) == "A. Buyer, 2026-11-26"
    assert load_terms(tmp_path, ENTRY).accepted_by(replace(EXPLAINED, explained="other words"), ()) == ""


def test_an_entry_for_a_part_holds_in_that_part_alone(tmp_path: Path) -> None:
    terms = load_terms(tmp_path, ENTRY.replace("{rule", "{part: kernels, rule"))
    assert [bool(terms.accepted_by(EXPLAINED, CELLS, part)) for part in ("kernels", "network")] == [True, False]


def test_a_violation_of_the_vendors_is_never_accepted_and_one_that_only_the_buyer_lifts_is(tmp_path: Path) -> None:
    allowing = load_terms(tmp_path, "preloads: ['/opt/*']\n" + ENTRY)
    wrong = replace(EXPLAINED, severity=Severity.ERROR)
    assert allowing.accepted_by(wrong, CELLS) == ""
    assert allowing.accepted_by(PRELOAD, CELLS) == "preloads of the terms"
    assert (
        load_terms(tmp_path, "preloads: [/opt/darshan/lib.so]\n").accepted_by(PRELOAD, CELLS) == ""
    )  # loads a second one
    finding = replace(PRELOAD, values={**PRELOAD.values, "library": "/opt/darshan/../../tmp/x.so"})
    assert load_terms(tmp_path, "preloads: ['/opt/darshan/*']\n").accepted_by(finding, CELLS) == ""
    prefix = replace(PRELOAD, severity=Severity.INFO, values={"launcher": "numactl --interleave=all"})
    assert load_terms(tmp_path, "launchers: ['numactl *']\n").accepted_by(prefix, CELLS) == "launchers of the terms"


def test_proof_that_was_not_given_is_asked_for(tmp_path: Path) -> None:
    terms = load_terms(tmp_path)
    asking = replace(terms, proof=("nonce", "head", "sample"))
    assert [finding.values["proof"] for finding in asking.missing_proofs(["nonce"])] == ["head", "sample"]
    assert {finding.move for finding in asking.missing_proofs([])} == {Move.BUYER}


def test_heads_are_listed_alone_or_with_the_day_on_which_they_arrived(tmp_path: Path) -> None:
    text = f"heads:\n  - {'a' * 64}\n  - {{head: {'b' * 64}, received: '2026-11-22'}}\n"
    received = load_terms(tmp_path, text).received_heads
    assert received == {"a" * 64: None, "b" * 64: date(2026, 11, 22)}


def test_a_nonce_or_head_that_the_journal_does_not_have_proves_nothing() -> None:
    with reference.program_of_bundle():
        for buyer in (verify.Buyer(nonce="RFP-1"), verify.Buyer(heads=("a" * 64,))):
            with verify.verify(reference.BUNDLE, buyer) as verified:
                proof = verified.decision.block.questions[-1]
                assert (proof.name, proof.answer, verified.decision.evidence) == ("proof", "none", "CONTRADICTED")


def test_what_was_shown_of_one_bundle_holds_for_no_other(tmp_path: Path) -> None:
    output = f"shown:\n  - {{proof: sample, head: {'a' * 64}, by: A. Buyer, date: '2026-11-26'}}\n"
    found_terms = load_terms(tmp_path, output)
    assert list(terms.shown_proofs(found_terms, "a" * 64)) == ["sample"]
    assert terms.shown_proofs(found_terms, "b" * 64) == {}


def test_file_systems_that_the_terms_do_not_allow_are_a_violation(tmp_path: Path) -> None:
    with reference.verify_bundle(reference.SIGNERS) as verified:
        assert verified.evaluation is not None
        submission = verified.evaluation.submission
        wrong = list(load_terms(tmp_path, "mounts: [lustre]\n").violated_terms(submission))
        assert [(finding.expected, finding.actual) for finding in wrong] == [("lustre", "tmpfs")]
        assert list(load_terms(tmp_path, "mounts: [lustre, tmp*]\n").violated_terms(submission)) == []
        assert [finding.actual for finding in replace(load_terms(tmp_path), version=2).violated_terms(submission)] == [
            "1"
        ]


def test_what_verify_prints_is_accepted_once_a_name_and_a_day_are_filled_in(tmp_path: Path) -> None:
    with reference.verify_bundle() as verified:
        bound = f"heads: [{verified.chain.head}]"
    with reference.program_of_bundle():
        file = write_terms(tmp_path)
        file.write_text(file.read_text().replace("nonce: RFP-1\nproof: [nonce]", bound))
        first = command_line.call("verify", reference.BUNDLE, "--terms", file)
        assert first.returncode == 4, first.stdout
        filled = re.sub('by: "", date: ""', 'by: A. Buyer, date: "2026-11-26"', entries(first.stdout))
        file.write_text(f"{file.read_text()}\n{filled}\n")
        buyer = verify.Buyer(reference.SIGNERS, terms=terms.load(file))
        with verify.verify(reference.BUNDLE, buyer) as verified:
            assert verified.decision.undecided == ()
            assert verified.evaluation is not None
            waived = [finding.rule for finding in verified.evaluation.submission.all_findings if finding.waived]
            assert waived == ["SRC-01", "SRC-05"]


# --- from a campaign with the defaults to a decision


class Offer:
    """The README's campaign as a vendor hands it in who explains all that is open, signed, with the buyer's terms."""

    def __init__(
        self, tmp_path: Path, further_text: str = "", change: Callable[[Path], None] = lambda bag: None
    ) -> None:
        self.bag = tmp_path / "offer"
        with zipfile.ZipFile(reference.BUNDLE) as archive:
            archive.extractall(tmp_path)
        (tmp_path / "my-rfp").rename(self.bag)
        change(self.bag)
        with (self.bag / "data/campaign.yaml").open("a") as file:
            file.write(further_text)
        bundled.redo(self.bag)
        with verify.verify(self.bag, verify.Buyer()) as verified:
            assert verified.evaluation is not None
            findings, head = verified.evaluation.submission.all_findings, verified.chain.head
        self.open_rules = sorted({finding.rule for finding in findings if finding.open or finding.lifted_by_buyer})
        explanations = [f"- {{rule: {rule}, cells: '*/*/*/*', text: the trial of {rule}}}" for rule in self.open_rules]
        with (self.bag / "data/campaign.yaml").open("a") as file:
            file.write("\n".join(["", "explanations:", *explanations, ""]))
        bundled.redo(self.bag)
        key = tmp_path / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], timeout=800, check=True)
        (self.bag / bagit.SIGNATURE).unlink()
        signatures.sign(self.bag / bagit.TAG_MANIFEST, key, bundle.NAMESPACE)
        self.terms = write_terms(tmp_path)
        self.terms.write_text(self.terms.read_text().replace("nonce: RFP-1\nproof: [nonce]", f"heads: [{head}]"))
        (tmp_path / "signers").write_text(f"vendor {key.with_suffix('.pub').read_text()}")

    def verified(self, *options: str) -> subprocess.CompletedProcess[str]:
        return command_line.call("verify", self.bag, "--terms", self.terms, *options)

    def accept(self, output: str, but: str = "nothing") -> None:
        """Enter what `verify` printed into the terms, but for the entries of a rule."""
        enter(self.terms, "".join(line for line in entries(output).splitlines(True) if f"rule: {but}" not in line))


@pytest.fixture
def as_when_made() -> Iterator[None]:
    with reference.program_of_bundle():
        yield


@pytest.mark.usefixtures("as_when_made")
def test_a_vendor_who_explains_what_is_open_reaches_status_0_by_the_buyers_terms(tmp_path: Path) -> None:
    """The way that docs/evidence.md describes, with a campaign that was measured with the defaults."""
    offer = Offer(tmp_path)
    first = offer.verified()
    assert first.returncode == 4, first.stdout
    assert "  rules      kept " in first.stdout
    assert f"{len(offer.open_rules)} explanations, 2 deviations, not yet accepted" in first.stdout
    demands = offer.terms.read_text()
    offer.accept(first.stdout, but="SRC-01")
    bare_process = offer.verified()
    assert (bare_process.returncode, "rule: SRC-01" in entries(bare_process.stdout)) == (4, True), bare_process.stdout
    offer.terms.write_text(demands)
    offer.accept(first.stdout)
    last = offer.verified()
    assert last.returncode == 0, last.stdout
    assert last.stdout.startswith("ACCEPTABLE  offer  vendor (signature ok)")


def take_stat(bag: Path) -> None:
    """A library took the place of stat, and the description names it."""
    description = bag / "data/campaign.yaml"
    text = description.read_text()
    description.write_text(text.replace("tuning by users: none", "tuning by users: traced by /opt/shim.so"))
    for path in bag.glob("data/results/runs/*/*/bench.jsonl"):
        path.write_text(re.sub(r'"stat": "[^"]*libc[^"]*"', '"stat": "/opt/shim.so"', path.read_text()))


def with_second_tier(bag: Path) -> None:
    """A second tier is offered, and none of its 36 results."""
    path = bag / "data/campaign.yaml"
    tier = "targets:\n  - {name: nfs, directory: /nfs, description: tmpfs behind NFS}\n"
    path.write_text(path.read_text().replace("targets:\n", tier))


DECLINED = "declined:\n- {cells: 'nfs/*/*/*', reason: on request}\n"


def is_not_accepted_without_its_entry(offer: Offer, rule: str, message: str) -> None:
    first = offer.verified()
    assert (first.returncode, message in first.stdout) == (4, True), first.stdout
    offer.accept(first.stdout, but=rule)
    bare_process = offer.verified()
    assert bare_process.returncode == 4, bare_process.stdout
    assert f"rule: {rule}" in entries(bare_process.stdout)


@pytest.mark.usefixtures("as_when_made")
def test_results_that_were_not_measured_are_accepted_by_the_buyer_alone(tmp_path: Path) -> None:
    offer = Offer(tmp_path, DECLINED, with_second_tier)
    is_not_accepted_without_its_entry(offer, "CMP-03", "36 results without measurement (1 reason)")


@pytest.mark.usefixtures("as_when_made")
def test_a_shim_is_accepted_by_the_buyer_alone_and_unexplained_a_violation_however_it_is_described(
    tmp_path: Path,
) -> None:
    offer = Offer(tmp_path, change=take_stat)
    is_not_accepted_without_its_entry(offer, "SRC-05", "9 explanations, 1 deviation, not yet accepted")
    text = (offer.bag / "data/campaign.yaml").read_text()
    text = re.sub("- .rule: SRC-05.*\n", "", text.replace("traced by /opt/shim.so", "none"))
    (offer.bag / "data/campaign.yaml").write_text(text)
    bundled.redo(offer.bag)
    process = offer.verified("--details")
    assert process.returncode == 1
    assert " VIOLATED SRC-05: /opt/shim.so is loaded before the C library or MPI " in " ".join(process.stdout.split())


# --- with the RFP's own program

# Prints what mdtest 1.8.4 of the Crossroads repository prints, with rates that differ by up to 2%. It makes no files
# and runs for a second, in which the job sees its ranks.
PRINTS_1_8_3 = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int number(const char *variable)
{
    const char *value = getenv(variable);
    return value ? atoi(value) : 1;
}

static void print_time(const char *what)
{
    time_t now = time(NULL);
    char text[32];
    strftime(text, sizeof text, "%m/%d/%Y %H:%M:%S", localtime(&now));
    printf("-- %s at %s --\n", what, text);
}

int main(int argc, char **argv)
{
    static const char *const rows[] = {"File creation     : ", "File stat         : ", "File read         : ",
                                       "File removal      : ", "Tree creation     : ", "Tree removal      : "};
    static const double rates[] = {2000, 9000, 0, 3000, 900, 800};
    int items = 0, processes = number("SLURM_STEP_NUM_TASKS");
    unsigned noise = 97u * processes + argv[argc - 1][1];
    sleep(1);
    if (number("SLURM_PROCID") != 0)
        return 0;
    print_time("started");
    printf("\nmdtest-1.8.3 was launched with %d total task(s) on %d nodes\nCommand line used:", processes,
           number("SLURM_STEP_NUM_NODES"));
    for (int i = 0; i < argc; i++) {
        printf(" %s", argv[i]);
        items = strcmp(argv[i], "-n") == 0 ? atoi(argv[i + 1]) : items;
    }
    printf("\n\n%d tasks, %d files\n\nSUMMARY: (of 1 iterations)\n", processes, processes * items);
    printf("   Operation                  Max        Min       Mean    Std Dev\n");
    printf("   ---------                  ---        ---       ----    -------\n");
    for (int i = 0; i < 6; i++) {
        noise = 1664525u * noise + 1013904223u;
        double rate = rates[i] * processes * (1 + noise / 4294967296.0 / 50);
        printf("   %s%10.3f %10.3f %10.3f %10.3f\n", rows[i], rate, rate, rate, 0.0);
    }
    printf("\n");
    print_time("finished");
    return 0;
}
"""
RELEASED = source_trees.tree(
    mdtest_c=b'#define RELEASE_VERS "1.8.3"\nint main;\n', RELEASE_LOG_md=b"Changes in mdtest-1.8.4\n"
)
TUNING = "btl_tcp_if_include mpi_yield_when_idle oob_tcp_if_include orte_tmpdir_base pml"
OFFERED = """\
name: offer
rules: ./small-mdtest.yaml
profile: full
nonce: RFP-1
targets: [{{name: scratch, directory: {target}, description: tmpfs of one machine}}]
launch: {{single: 1, node: 2, peak: {{nodes: 2, processes: 4}}, max: {{nodes: 4, processes: 16}}}}
benchmark: {{executable: built/mdtest, dialect: rank-offset}}
source:
  pristine: released
  version: 1.8.4
  sha256: {released}
  modified: built
  build: {{compiler: gcc, flags: -O2}}
system: {{{system}, tuning by users: "{tuning}"}}
contact: {{name: A. Vendor, organisation: Vendor Inc, email: a@vendor.com}}
answers: {{8.2.2 tuning: none}}
explanations:
"""


@pytest.mark.slurm
@pytest.mark.timeout(600)
def test_the_rfps_own_mdtest_reaches_status_0_though_it_prints_another_version(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    """From the campaign file to the buyer's decision, by the steps that docs/evidence.md describes."""
    pack = (resources.PACKS / "crossroads-mdtest.yaml").read_text()
    small = pack.replace("id: crossroads-mdtest", "id: small-mdtest").replace("full: 2^20", "full: 256")
    (tmp_path / "small-mdtest.yaml").write_text(small)
    source_trees.write(tmp_path / "released", RELEASED)
    source_trees.write(tmp_path / "built", RELEASED)
    program = tmp_path / "built/mdtest"
    subprocess.run(["cc", "-x", "c", "-o", program, "-"], input=PRINTS_1_8_3, text=True, check=True, timeout=800)
    described = [name for name in SYSTEM if name != "tuning by users"]
    text = OFFERED.format(
        target=new_target(sandbox, "banner"),
        released=RELEASED.hash,
        system=", ".join(f"{name}: one machine" for name in described),
        tuning=", ".join(f"OMPI_MCA_{name}" for name in TUNING.split()),
    )
    case = Case(tmp_path / "offer.yaml", tmp_path, sandbox)
    open_rules = ("GEO-04", "STA-04", "SEL-02")
    case.file.write_text(
        text + "".join(f"- {{rule: {rule}, cells: '*/*/*/*', text: a trial}}\n" for rule in open_rules)
    )
    case.call("run")
    values = {row["operation"]: row["value"] for row in case.table() if row["launch"] == "single"}
    assert values == pytest.approx({"create": 2000, "stat": 9000, "remove": 3000}, rel=0.02)
    case.call("modifications")
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], timeout=800, check=True)
    case.call("bundle", "-o", str(tmp_path / "offer.zip"), "--sign", str(key))

    def buyer(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return command_line.call(*words, cwd=tmp_path)

    process = buyer("terms", "init", "terms.yaml", "--rules", "./small-mdtest.yaml")
    assert process.returncode == 0, process.stderr
    (tmp_path / "signers").write_text(f"vendor {key.with_suffix('.pub').read_text()}")
    demands = tmp_path / "terms.yaml"
    demands.write_text(demands.read_text().replace("<a random word that you issue>", "RFP-1"))
    first = buyer("verify", "offer.zip", "--terms", "terms.yaml")
    assert first.returncode == 4, first.stdout
    enter(demands, entries(first.stdout))
    last = buyer("verify", "offer.zip", "--terms", "terms.yaml")
    assert last.returncode == 0, last.stdout
