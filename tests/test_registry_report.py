"""The report: what is in it, what never is, and how it stands in a real browser."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from browser import browser
from inspect_ai.scorer import Score
from registry_toys import CANARY, record, run, settle, toy
from report_toys import Read, invoke, kept, page, rated

from clinical_evals.registry.location import locate
from clinical_evals.registry.markup import breakable, element, escaped
from clinical_evals.registry.plots import axis_over
from clinical_evals.registry.record import MetricFacts, RunRecord

pytestmark = pytest.mark.usefixtures("folder")

HOSTILE = "<script>alert(1)</script>"
QUOTED = "\"><img src=x onerror=alert(2)>' style='"


def with_ids(result: RunRecord, ids: dict[int, str]) -> RunRecord:
    rows = [
        row.model_copy(update={"sample": ids.get(index, row.sample)}) for index, row in enumerate(result.rows)
    ]
    return result.model_copy(update={"rows": rows})


def many(number: int) -> list[RunRecord]:
    """Runs as they come: long and hostile names, unscored and failed samples, two that cannot be ranked."""
    names = [QUOTED, "x" * 120, "openai-api/local/llama-3.1-8b-instruct-q4_K_M"]
    models = [*names, *(f"vendor/model-{index}" for index in range(number - len(names)))]
    made = [
        record(
            [0.0, *(0.5 + 0.4 * ((7 * sample + 3 * index) % 11) / 11 - 0.01 * index for sample in range(59))],
            model=model,
            grader="judge/one" if index % 2 else model,
            unscored=2 if index % 3 == 1 else 0,
            failed=3 if index % 5 == 2 else 0,
            dataset_samples=60 + (2 if index % 3 == 1 else 0) + (3 if index % 5 == 2 else 0),
            signature="toy v=1",
            params={"temperature": str(index % 2), "system prompt": "sha256:" + "0" * 64},
            tags={
                "package_version": "0.1.0",
                "inspect_version": "0.3.285",
                "git_commit": "a" * 40 + "-dirty",
            },
        )
        for index, model in enumerate(models)
    ]
    made = [with_ids(one, {0: HOSTILE}) for one in made]
    return [
        *made,
        record([1.0] * 2, model="smoke", dataset_samples=60),
        record([0.5] * 5, model="broken", unscored=5),
    ]


def test_figures_bounds_causes_versions_and_limits() -> None:
    tags = {"package_version": "0.1.0", "inspect_version": "0.3.285", "git_commit": "abcdef0123456789-dirty"}
    good = record([0.9, 0.8, 1.0] * 10, model="m/good", tags=tags)
    weak = record([0.5] * 28, model="m/weak", unscored=1, failed=1)
    apart = record([1.0], model="m/smoke", dataset_samples=30)
    text = Read(page(*kept([good, weak, apart]))).text

    assert "m/good stands first with quality 0.900 [0.8" in text
    # Both scored s000 to s027: 0.5 against (9 * 2.7 + 0.9) / 28 = 0.9
    assert "m/weak is 0.400 lower" in text
    assert "p < 0.001" in text
    # 28 values of 0.5 and a failure are 14 / 29; with the unscored sample at 0 or 1, 14 / 30 or 15 / 30
    assert "0.483" in text
    assert "0.467 to 0.500" in text
    assert "endpoint error 1" in text
    assert "refusal 1" in text
    assert "1 of 30 samples" in text
    assert "with changes" in text
    assert "abcdef012345" in text
    assert "0.3.285" in text
    assert "toy v=1" in text
    assert "sha256:0123" in text
    assert "What these figures do not mean" in text
    assert "Faithful is not correct" in text
    assert "t000" in text, "the unscored sample is named"


@pytest.mark.parametrize("higher", [True, False])
def test_a_run_that_answered_nothing_never_stands_first(higher: bool) -> None:
    facts: dict[str, Any] = {"metrics": {"quality": MetricFacts(range=(0, 1), higher_is_better=higher)}}
    failing = record([], model="m/failing", failed=3, **facts)
    other = record([0.4, 0.6, 0.5], model="m/other", **facts)
    alone = Read(page(*kept([failing]))).text
    assert "stands first" not in alone
    assert "No run of this board can be ranked: no sample was answered." in alone
    beside = Read(page(*kept([failing, other], "two"))).text
    assert "m/other is the only run that can be ranked" in beside
    assert "m/failing is" not in beside
    assert "m/failing: not ranked: no sample was answered" in beside


def damage(path: Path, how: str) -> None:
    """Take a run's table of samples away, or make something else of it."""
    table = pq.read_table(path)
    if how == "missing":
        path.unlink()
    elif how == "garbage":
        path.write_bytes(b"PAR1 of a kind")
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    elif how == "of something else":
        pq.write_table(pa.table({"sample": ["s000"]}), path)
    elif how == "of other types":
        column = table.schema.get_field_index("epoch")
        pq.write_table(table.set_column(column, "epoch", pa.array(["first"] * len(table))), path)
    elif how == "not all of it":
        pq.write_table(table.slice(1), path)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        *(
            (how, "cannot be read")
            for how in ("missing", "garbage", "cut", "of something else", "of other types")
        ),
        ("not all of it", "holds 2 of 3 samples"),
    ],
)
def test_samples_that_cannot_be_read_are_said_to_be_missing(folder: Path, how: str, said: str) -> None:
    results = [record([0.9, 0.8, 1.0], model="m/good"), record([0.1, 0.2, 0.4], model="m/hurt")]
    kept(results, str(locate().spool))
    hurt = next(one.run_id for one in settle() if one.model == "m/hurt")
    (table,) = folder.glob(f"mlruns/**/{hurt}/artifacts/samples.parquet")
    damage(table, how)
    result = invoke()
    assert result.exit_code == 0, result.output
    warnings = [line for line in result.stderr.splitlines() if line.startswith("Warning")]
    assert len(warnings) == 1
    assert f"run {hurt}: its samples.parquet {said}" in warnings[0]
    text = Read(Path("report.html").read_text(encoding="utf-8")).text
    assert f"m/hurt: run {hurt}: its samples.parquet {said}" in text
    assert "differences to the best run" in text
    assert "0.233 [" in text, "its mean stands"
    assert "Difference to the best run" not in text


def test_boards_of_one_dataset_are_told_apart() -> None:
    made = [
        record([0.5, 0.6], model="m/a", signature="toy v=1", dataset_samples=2),
        record([0.5, 0.6], model="m/b", signature="toy v=1 answers=handed-in grader=j/one"),
        record([0.5, 0.6], model="m/c", signature="toy v=1 answers=handed-in grader=j/two"),
        record([0.5, 0.6], model="m/d", signature="toy v=2"),
        record([0.5, 0.6], model="m/e", task="other"),
    ]
    read = Read(page(*kept(made)))
    links = re.search(r"<nav.*?</nav>", Path("report.html").read_text(encoding="utf-8"))
    assert links
    names = re.findall(r">([^<>]+)</a>", links[0])
    assert len(names) == len(set(names)) == 6
    assert "toy on toys 1 · answers handed-in · grader j/one" in names
    assert "other on toys 1" in names, "nothing is added where nothing has to be"
    headings = [attributes.get("id") for tag, attributes in read.elements if tag == "h2"]
    assert len(headings) == len(set(headings)) == 6


def test_what_is_better_near_0_is_said_to_be() -> None:
    facts = {
        name: MetricFacts(range=ends, higher_is_better=False)
        for name, ends in (("bias", (-9, 9)), ("error", (0, 9)))
    }
    values = {"quality": 0.5, "bias": -1.0, "error": 1.0}
    made = record([0.5, 0.5])
    rows = [row.model_copy(update={"values": values}) for row in made.rows]
    made = made.model_copy(update={"rows": rows, "metrics": made.metrics | facts})
    text = Read(page(*kept([made]))).text
    assert "biasnearer to 0 is better" in text
    assert "errorless is better" in text


def test_a_tie_is_said_to_be_one() -> None:
    files = kept([record([0.5, 0.6, 0.7, 0.8], model="m/a"), record([0.6, 0.5, 0.8, 0.71], model="m/b")])
    assert "Not told apart from it at 5%: m/a" in Read(page(*files)).text


def test_how_far_a_judge_is_believed() -> None:
    by = {"task": "calibration", "metric": "kappa", "signature_key": "rubric"}
    judged: dict[str, Any] = {
        "grader": "j/judge",
        "graded": True,
        "calibrated_by": by,
        "signature": "toy rubric=r1",
    }
    calibration = record(
        [0.6, 0.7, 0.8], model="j/judge", task="calibration", signature="c rubric=r1", headline="kappa"
    )
    rows = [row.model_copy(update={"values": {"kappa": row.values["quality"]}}) for row in calibration.rows]
    calibration = calibration.model_copy(
        update={"rows": rows, "metrics": {"kappa": MetricFacts(range=(-1, 1))}}
    )
    other = record([0.4, 0.5, 0.7], model="m/b", **(judged | {"grader": "j/other"}))
    own = record([0.3, 0.5, 0.7], model="j/small", **judged)
    text = Read(page(*kept([record([0.5, 0.6, 0.7], model="m/a", **judged), other, own, calibration]))).text
    ranking = text.partition("Ranking")[2].partition("Difference")[0]
    assert "judge and people: kappa" in ranking
    assert "0.70 [" in ranking
    assert "uncalibrated" in ranking
    assert "graded by j/judge" in ranking
    assert "Graded by themselves or by a model of their own maker: j/small." in text


def test_what_is_undefined_reads_so_and_the_file_is_whole() -> None:
    source = page(*kept([record([None, None], model="m/none"), record([0.4], model="m/single")]))
    text = Read(source).text
    assert "n/a" in text
    assert not re.search(r"\bnan\b", source, re.IGNORECASE)
    assert "[n/a]" in text, "one sample has no interval"


def test_less_is_better_lists_the_greatest_first() -> None:
    facts = {"quality": MetricFacts(range=(0, 1), higher_is_better=False)}
    values = {"m/a": [0.1, 0.9, 0.2], "m/b": [0.3, 0.95, 0.4]}
    text = Read(page(*kept(record(these, model=name, metrics=facts) for name, these in values.items()))).text
    assert "Less is better." in text
    assert "m/a stands first" in text
    hard = text.partition("over all runs")[2]
    assert hard.index("s001") < hard.index("s002") < hard.index("s000")


def test_names_stay_text() -> None:
    hostile = record(
        [0.2, 0.4, 0.6], model=QUOTED, grader=HOSTILE, params={HOSTILE: QUOTED}, failed=1, dataset_samples=4
    )
    turned = record([0.2, 0.5, 0.6, 0.7], model="m/\u202etxet\x00")
    read = Read(page(*kept([with_ids(hostile, {0: HOSTILE, 3: QUOTED}), turned])))
    assert HOSTILE in read.text
    assert QUOTED in read.text
    assert "\u202e" not in read.text
    tags = {tag for tag, _ in read.elements}
    assert not tags & {"script", "img", "iframe", "object", "form", "base"}
    for tag, attributes in read.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
        for name in ("src", "href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,")), attributes


def test_no_text_of_a_note() -> None:
    run(toy([{"quality": 0.2}, {"quality": 0.9}, Score.unscored(reason="grader_failed")]))
    assert len(settle()) == 1
    source = page()
    assert "grader failed 1" in source
    assert CANARY not in source


def test_chosen_runs_by_name_and_log() -> None:
    log = run(toy([{"quality": 0.2}, {"quality": 0.9}], signature="toy v=2"))
    settle()
    kept([record([0.5, 0.7], model="m/other")], str(locate().spool))
    text = Read(page("m/other", log.location, log.location)).text
    assert "2 runs on 2 boards" in text, "other data, so a board of its own; and the same run only once"
    assert "in no registry" in text
    assert text.count("Not comparable with the first board") == 1

    missing = invoke("m/nobody")
    assert missing.exit_code == 2
    assert "no such run" in missing.output
    assert invoke("--task", "nothing").exit_code == 2


def test_nothing_is_left_behind_where_nothing_can_be_shown(folder: Path) -> None:
    result = invoke()
    assert result.exit_code == 2
    assert "holds no results" in result.output
    assert list(folder.iterdir()) == []
    Path("report.html").mkdir()
    assert invoke().exit_code == 2


def test_axes_are_round_and_stay_within_what_there_can_be() -> None:
    assert axis_over([0.09, 0.93], (0, 1)).ticks == (0, 0.25, 0.5, 0.75, 1)
    near = axis_over([0.91, 0.94, float("nan")], (0, 1))
    assert near.low > 0.85
    assert near.high <= 1
    assert axis_over([3.4, 5.9], (1, 10)).ticks == (3, 4, 5, 6)
    assert axis_over([]).at(0.5) == "50.00%"
    assert axis_over([0.5, 0.5]).low < 0.5 < axis_over([0.5, 0.5]).high


def test_markup_escapes_all_but_itself() -> None:
    inner = element("b", "<&>\"'")
    assert inner == "<b>&lt;&amp;&gt;&quot;&#x27;</b>"
    assert (
        element("p", inner, None, 3, title='"', hidden=True, id=None)
        == f'<p title="&quot;" hidden>{inner}3</p>'
    )
    assert breakable("a/b<c of 7") == "a/<wbr>b&lt;c of 7"
    assert breakable("x" * 41) == f"{'x' * 20}<wbr>{'x' * 20}<wbr>x"
    assert breakable("") == ""
    assert escaped("\ud800\u202e\x07") == "\ufffd" * 3


def test_in_a_browser(folder: Path) -> None:
    shades = [(10, 9)] * 5 + [(9, 9)] * 4 + [(8, 8)] * 3 + [(7, 8)] * 2 + [(6, 6)]
    page(*kept([*many(20), rated(shades, task="shades")]))
    file = folder / "report.html"
    assert file.stat().st_size < 400_000
    with browser(folder) as window:
        for width in (360, 1200):
            window.size(width)
            window.requests.clear()
            window.open(file.as_uri())
            window.run("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert window.requests == [file.as_uri()], "the report loads nothing"
            assert window.run("[innerWidth, document.documentElement.scrollWidth]") == [width, width]
            outside = window.run(
                "[...document.querySelectorAll('body *')].filter(one => !one.closest('.scroll, svg, .skip') &&"
                f" one.getBoundingClientRect().right > {width}).map(one => one.outerHTML.slice(0, 80))"
            )
            assert outside == [], "only tables are wider than the page, each in its own box"
            cells = window.run("[...document.querySelectorAll('.heat td')].map(one => one.clientWidth)")
            assert min(cells) > 18, "two digits have room"
            tracks = window.run("[...document.querySelectorAll('.track')].map(one => one.clientWidth)")
            assert min(tracks) > 200
        assert window.run("document.querySelectorAll('script, img').length") == 0
        assert window.run("getComputedStyle(document.body).maxWidth") == "1088px", (
            "the style is let in by its hash"
        )
        assert HOSTILE in window.text()
        light = window.run("getComputedStyle(document.body).backgroundColor")
        window.size(1200, dark=True)
        assert window.run("getComputedStyle(document.body).backgroundColor") != light
        for dark in (False, True):
            window.size(1200, dark=dark)
            assert json.loads(window.run(_CONTRAST)) == []
        named = "[...document.querySelectorAll('svg[role=img]')].every(one => one.getAttribute('aria-label').length > 9)"
        assert window.run(named)
        assert window.run(
            "[...document.querySelectorAll('th')].every(one => ['col', 'row', 'colgroup'].includes(one.scope))"
        )
        assert window.problems == []


# Texts whose colour stands out too little from what is behind them: under 4.5 to 1 (WCAG 2, level AA).
_CONTRAST = """
(() => {
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(Number).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b };
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (!/, 0\\)$/.test(c)) return c } return 'rgb(255, 255, 255)' };
  const found = new Set();
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const style = getComputedStyle(e);
    const pair = [light(e.namespaceURI.endsWith('svg') ? style.fill : style.color), light(behind(e))].sort();
    if ((Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05) < 4.5) found.add(e.tagName + '.' + e.className);
  }
  return JSON.stringify([...found]);
})()
"""
