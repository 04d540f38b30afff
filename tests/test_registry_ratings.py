"""What two raters gave, side by side: in the report and as the picture that a run carries in MLflow."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from registry_toys import all_runs, record, settle
from report_toys import Read, kept, page, rated

from clinical_evals.registry.cross_table import cross_tables, write_picture
from clinical_evals.registry.location import locate
from clinical_evals.registry.store import connect

pytestmark = pytest.mark.usefixtures("folder")


def test_ratings_side_by_side_count_what_both_gave() -> None:
    source = page(*kept([rated([(3, 4), (3, 4), (9, 9), (10, 1)], "j/<one>"), rated([(3, 3)] * 4, "j/two")]))
    first, second = re.findall(r'<table class="heat".*?</table>', source)
    cells = [
        [int(cell) for cell in re.findall(r"<td class=[^>]*>(\d+)</td>", line)]
        for line in re.findall(r"<tr><th scope=\"row\">\d+</th>(.*?)</tr>", first)
    ]
    assert [len(line) for line in cells] == [10] * 10
    found = {(human, judge): n for human, line in enumerate(cells, 1) for judge, n in enumerate(line, 1) if n}
    assert found == {(3, 4): 2, (9, 9): 1, (10, 1): 1}
    text = Read(first).text
    assert "Tone: same rating 1 of 4 (25%), at most one point apart 3 (75%)" in text
    assert "human ↓" in text
    assert "judge →" in text
    assert "Tone, j/&lt;one&gt;: samples by rating of human (rows) and of judge (columns)" in first
    assert '<td class="heat-5 same">4</td>' in second
    assert "Agreement is not truth" in source


def test_no_table_of_ratings_that_are_no_whole_points() -> None:
    assert 'class="heat"' not in page(*kept([rated([(500, 700), (900, 900)])]))
    assert 'class="heat"' not in page(*kept([record([0.5, 0.6])], "plain"))


def test_a_run_carries_the_picture_and_others_none(folder: Path) -> None:
    kept(
        [rated([(3, 4), (9, 9), (9, 9)], "j/<one>"), record([0.5, 0.6], model="m/plain")], str(locate().spool)
    )
    settle()
    client = connect(locate())
    found = {
        run.info.run_name: {one.path for one in client.list_artifacts(run.info.run_id)} for run in all_runs()
    }
    assert found == {"j/<one>": {"samples.parquet", "confusion.svg"}, "m/plain": {"samples.parquet"}}
    (path,) = folder.glob("mlruns/**/confusion.svg")
    texts = [element.text for element in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "toy: j/<one>"
    assert "same rating 2 of 3 (67%), at most one point apart 3 (100%)" in texts
    assert {"human", "judge", "Tone", "10"} <= set(texts)
    assert texts.count("0") == 98
    assert any("toy v=1" in (text or "") for text in texts), "it says by which rules"


def test_what_cannot_be_counted_has_no_table(folder: Path) -> None:
    off_the_scale = rated([(0, 4), (9, 11)])
    never_both = rated([(3, 4)])
    never_both.rows[0].counts.pop("judge_tone")
    unscored = rated([(3, 4)])
    unscored.rows[0].status = "unscored"
    for made in (off_the_scale, never_both, unscored, record([0.5]), record([])):
        assert cross_tables(made.rows, made.metrics) == []
        assert write_picture(made, folder / "confusion.svg") is None
    assert not (folder / "confusion.svg").exists()
