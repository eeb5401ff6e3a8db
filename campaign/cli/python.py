"""The interface for Python programs, `campaign.load` and `campaign.verify`: what `campaign table` and `campaign verify`
print, as objects.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaign.config import response
from campaign.config.definition import open_campaign
from campaign.core.columns import csv_line
from campaign.core.errors import EnvironmentLacks
from campaign.core.strict_yaml import has_key
from campaign.evidence import terms as buyers_terms
from campaign.evidence import verify_bundle, verify_text
from campaign.evidence.verify import Buyer, load_buyers_rules
from campaign.judge.submission import Submission
from campaign.pipeline import campaign_state
from campaign.results.cells import COLUMNS, IN_CSV, Row

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class LoadedCampaign:
    """A campaign as it is recorded and judged. `submissions`: by part of the RFP; of a campaign without parts, that of
    "".
    """

    submissions: Mapping[str, Submission]

    def table(self) -> list[dict[str, Any]]:
        """The results as `campaign table --format json` prints them, each with its status and its findings; those of a
        file with several parts with their `part`.
        """
        return [part | row.as_json() for part, row in self._rows()]

    def to_pandas(self) -> pandas.DataFrame:
        """The results with the columns of `campaign table --format csv`. Raises EnvironmentLacks without pandas."""
        try:
            import pandas
        except ImportError as error:
            raise EnvironmentLacks("to_pandas needs pandas, which is not installed: pip install pandas") from error
        lines = ((part, csv_line(COLUMNS, row)) for part, row in self._rows())
        return pandas.DataFrame([part | {name: line[name] for name in IN_CSV} for part, line in lines])

    def _rows(self) -> Iterator[tuple[dict[str, Any], Row]]:
        for part, submission in self.submissions.items():
            yield from (({"part": part} if part else {}, row) for row in submission.rows)


def load(file: str | os.PathLike[str], part: str = "") -> LoadedCampaign:
    """The campaign of a file, with what has ended so far; `part`: only this part of one that answers an RFP. Raises
    InputError with what is wrong in the file.
    """
    path = Path(file)
    parts = [part]
    if not part and has_key(path, "parts"):
        parts = [response_part.id for response_part in response.read(path).parts]
    definitions = {name: open_campaign(path, name) for name in parts}
    return LoadedCampaign(
        {
            name if len(parts) > 1 else "": campaign_state.current_submission(definition, warnings.warn)
            for name, definition in definitions.items()
        }
    )


def verify(
    bundle: str | os.PathLike[str], terms: str | os.PathLike[str] | None = None, part: str = ""
) -> dict[str, Any]:
    """The decision on a bundle, as `campaign verify --json` prints it: its `decision` says it in sentences, its
    `exit_status` is 0 only with the buyer's `terms`. Raises InputError if it is no bundle.
    """
    demands = Buyer().with_terms(buyers_terms.load(Path(terms))) if terms else Buyer()
    load_buyers_rules(demands)
    with (
        verify_bundle.open_parts(Path(bundle), part) as selection,
        verify_bundle.verify_parts(selection, demands) as verified,
    ):
        document: dict[str, Any] = json.loads(json.dumps(verify_text.as_json(verified)))
        return document
