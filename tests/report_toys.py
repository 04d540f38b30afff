"""Reports for tests: results as files, the page that is made of them, and what a reader finds in it."""

from collections.abc import Iterable, Sequence
from html.parser import HTMLParser
from pathlib import Path

from click.testing import CliRunner, Result
from registry_toys import record

from clinical_evals.cli_report import report
from clinical_evals.registry.record import MetricFacts, RunRecord
from clinical_evals.registry.spool import keep


def kept(records: Iterable[RunRecord], folder: str = "kept") -> list[str]:
    """Write results as they are spooled; a report takes such files too."""
    named = (one.model_copy(update={"eval_id": f"eval{at:03}"}) for at, one in enumerate(records))
    return [str(keep(one, Path(folder).absolute())) for one in named]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(report, arguments)


def page(*arguments: str) -> str:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return Path("report.html").read_text(encoding="utf-8")


class Read(HTMLParser):
    """All elements, and the text outside of styles."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br", "wbr"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def rated(pairs: Sequence[tuple[int, int]], model: str = "j/one", task: str = "toy") -> RunRecord:
    """Build a result of two raters, human and judge, who rated what is called Tone."""
    made = record([0.5] * len(pairs), model=model, task=task)
    rows = [
        row.model_copy(update={"values": {}, "counts": {"human_tone": human, "judge_tone": judge}})
        for row, (human, judge) in zip(made.rows, pairs, strict=True)
    ]
    of = ("human_tone", "judge_tone")
    metrics = {
        "Tone kappa": MetricFacts(range=(-1, 1), statistic="quadratic_weighted_kappa", of=of),
        "Tone alpha": MetricFacts(range=(-1, 1), statistic="krippendorff_alpha", of=of),
    }
    return made.model_copy(update={"rows": rows, "metrics": metrics, "headline": "Tone kappa"})
