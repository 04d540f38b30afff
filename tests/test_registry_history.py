"""A model's scores over time: what is comparable with what, in words and as a picture."""

import csv
import io
import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from registry_toys import record

from clinical_evals.cli_leaderboard import leaderboard
from clinical_evals.registry.location import locate
from clinical_evals.registry.store import connect, send

ODD = "<i>$x_1$"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a registry of five runs of two models, sent out of order."""
    location = locate(tmp_path_factory.mktemp("filled"), {})
    client = connect(location)
    for number, result in enumerate(
        [
            record([0.6, 0.8], created="2026-03-01T00:00:00+00:00"),
            record([0.5, 0.7], created="2026-01-01T00:00:00+00:00"),
            record([0.9, 1.0], created="2026-02-01T00:00:00+00:00", signature="toy v=0"),
            record([1.0], created="2026-04-01T00:00:00+00:00", dataset_samples=2),
            record([0.1, 0.2], created="2026-02-15T00:00:00+00:00", model=ODD),
        ]
    ):
        send(result.model_copy(update={"eval_id": f"e{number}"}), client, location)
    return location.home


@pytest.fixture(autouse=True)
def copied(filled: Path, folder: Path) -> None:
    """Run each test in a folder with a copy of it."""
    shutil.copytree(filled, folder / "mlruns")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(leaderboard, arguments)


def test_runs_come_in_the_order_of_time_each_with_its_scale() -> None:
    (history,) = json.loads(invoke("--history", "m/one", "--format", "json").stdout)
    assert [
        (run["created"][5:7], run["scale"], run["comparable"], run["metrics"]["quality"]["mean"])
        for run in history["runs"]
    ] == [
        ("01", "A", True, pytest.approx(0.6)),
        ("02", "B", True, pytest.approx(0.95)),
        ("03", "A", True, pytest.approx(0.7)),
        ("04", "A", False, 1.0),
    ]
    assert history["runs"][3]["what_differs"] == "1 of 2 samples"
    assert [scale["differs"] for scale in history["scales"]] == [None, "scorer signature (v 0, not 1)"]
    table = invoke("--history", "m/one").stdout
    assert [line.split()[3:5] for line in table.splitlines() if line.startswith("2026")] == [
        ["A", "0.600"],
        ["B", "0.950"],
        ["A", "0.700"],
        ["A*", "1.000"],
    ]
    assert "* 2026-04-01 00:00 m/one: 1 of 2 samples" in table
    assert "unlike A: scorer signature (v 0, not 1)" in table


def test_letters_begin_with_a_whatever_is_shown() -> None:
    location = locate()
    old = record([0.3], model="m/old", signature="toy v=0", created="2026-02-02T00:00:00+00:00")
    send(old.model_copy(update={"eval_id": "old"}), connect(location), location)
    (history,) = json.loads(invoke("--history", "m/old", "--format", "json").stdout)
    assert [run["scale"] for run in history["runs"]] == ["A"]
    assert [(scale["scale"], scale["differs"]) for scale in history["scales"]] == [("A", None)]
    text = invoke("--history", "m/old").stdout
    assert "scale A: toys" in text
    assert "scale B" not in text


def test_every_model_and_every_format() -> None:
    rows = list(csv.DictReader(io.StringIO(invoke("--history", "--format", "csv").stdout)))
    assert [row["model"] for row in rows] == ["m/one", "m/one", ODD, "m/one", "m/one"]
    assert "&lt;i&gt;$x_1$</td>" in invoke("--history", "--format", "html").stdout
    assert "\\<i\\>$x\\_1$" in invoke("--history", "--format", "md").stdout


def test_it_is_drawn(folder: Path) -> None:
    for name in ("one.svg", "two.svg", "three.png"):
        result = invoke("--history", "--plot", name)
        assert result.exit_code == 0, result.output
    drawn = (folder / "one.svg").read_bytes()
    assert drawn == (folder / "two.svg").read_bytes()
    assert (folder / "three.png").read_bytes().startswith(b"\x89PNG")
    texts = {"".join(node.itertext()).strip() for node in ElementTree.fromstring(drawn).iter() if node.text}
    assert {
        "quality",
        "m/one, scale A",
        "m/one, scale B",
        "m/one, scale A, not comparable",
        f"{ODD}, scale A",
    } <= texts


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--history", "m/two"), "--history m/two: no run of this model. Choose from: <i>$x_1$, m/one"),
        (("--plot", "x.svg"), "--plot draws the history: use it with --history"),
        (("--history", "--plot", "x.gif"), "--plot x.gif: choose a file name that ends in .svg or .png"),
        (("--history", "--plot", "no/x.svg"), "--plot no/x.svg: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    result = invoke(*arguments)
    assert (result.exit_code, result.stderr) == (2, f"Error: {said}\n")
