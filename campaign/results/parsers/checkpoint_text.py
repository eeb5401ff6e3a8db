"""The checkpoint applet's text -> records and an observation. Pure.

Records are `checkpoint-P-M` (MiB/s of P processes that write M each, such as `checkpoint-4-64m`) and
`checkpoint-time-P-M` (s), with -r also `restart-P-M` and `restart-time-P-M`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from campaign.results.parsers.consistency import Range, contradicts, count_contradicts
from campaign.results.parsers.text_reader import LineRules, TextReader

_MIB = r"[0-9]{1,15}\.[0-9]{3}"
_ROW = (
    rf"(?P<operation>checkpoint|restart) +(?P<processes>[0-9]{{1,9}}) +(?P<memory>{_MIB}) +(?P<moved>{_MIB}) +"
    rf"(?P<time>[0-9]{{1,9}}\.[0-9]{{6}}) +[0-9.]+ +[0-9.]+ +(?P<rate>{_MIB}) +(?P<iteration>[0-9]{{1,9}})"
)


def memory_name(mib: str) -> str:
    """`64m` of "64.000", `0.5m` of "0.500": MiB as printed."""
    return f"{mib.rstrip('0').rstrip('.')}m"


class _CheckpointReader(TextReader):
    """Values are the best over the iterations. There is no closing line: it is complete where it ends with a row."""

    rules = LineRules(
        known=r"checkpoint: memory image of each process to its own file, fsync included; below .*"
        r"|operation +processes +MiB a process +MiB in all +time\(s\) +wr/rd\(s\) +fsync\(s\) +MiB/s +iter"
    )

    @rules(_ROW)
    def row(self, number: int, match: re.Match[str]) -> None:
        point = f"{match['processes']}-{memory_name(match['memory'])}"
        rate, time = f"{match['operation']}-{point}", f"{match['operation']}-time-{point}"
        if doubt := self._contradiction(rate, match):
            self.notes.unreadable(number, match[0], doubt)
            self.values.discard(rate)
            self.values.discard(time)
        self.values.add(rate, float(match["rate"]), "MiB/s", number)
        self.values.add(time, float(match["time"]), "s", number, lowest=True)

    def _contradiction(self, name: str, match: re.Match[str]) -> str:
        """What the columns of a row say against one another; iterations are counted."""
        rate, time, moved, each = (Range.printed(match[column]) for column in ("rate", "time", "moved", "memory"))
        whole = each * Range.of(int(match["processes"]))
        iteration = self.values.counts().get(name, 0)
        if int(match["iteration"]) != iteration:
            return contradicts(name=name, column="iter", found=match["iteration"], expected=iteration)
        if not moved.meets(whole):
            return contradicts(name=name, column="MiB in all", found=match["moved"], expected=whole.middle)
        if not moved.meets(rate * time):
            expected = moved.middle / time.middle
            return contradicts(name=name, column="MiB/s", found=match["rate"], expected=expected)
        return ""

    def finish(self, text: str) -> None:
        if not self.values:
            self.notes.error(None, "not output of checkpoint, or it ended before its first result")
        # Each operation of a run has as many iterations; where a program without them ended, rows are missing.
        counts = self.values.counts()
        whole = max(counts.values(), default=0)
        for name, count in counts.items():
            if count < whole:
                self.values.discard(name)
                self.notes.error(None, count_contradicts(name=name, found=count, expected=whole))
        last = text.rstrip("\n").rpartition("\n")[2]
        self.seen = replace(self.seen, complete=text.endswith("\n") and re.fullmatch(_ROW, last) is not None)


parse = _CheckpointReader.parse
