"""The registry in MLflow's own UI, as people use it: runs, charts and the comparison of two, in a real browser."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Page, browser, find_chromium
from registry_toys import record

from clinical_evals.registry.location import locate
from clinical_evals.registry.record import RunRecord, SampleRow
from clinical_evals.registry.spool import keep

_PATIENCE = 120.0

# Three runs of 20 samples; the means are easy to find again on a page.
MEANS = {"m/first": 0.875, "m/second": 0.625, "m/third": 0.375}


def result(model: str, mean: float) -> RunRecord:
    made = record([mean + 0.1 * (-1) ** index for index in range(20)], model=model)
    rows: list[SampleRow] = [
        row.model_copy(update={"counts": {"claims": 5, "found": 3}}) for row in made.rows
    ]
    return made.model_copy(update={"rows": rows, "params": {"temperature": "0"}})


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Open the UI of a registry with three results, which were spooled until then."""
    find_chromium()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for model, mean in MEANS.items():
        keep(result(model, mean), locate().spool)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", "from clinical_evals.cli import main; main()", "ui", "--port", str(port)]
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, process, tmp_path / "server.log")
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except OSError:
            said = log.read_text(errors="replace")[-2000:]
            assert process.poll() is None, said
            assert time.monotonic() < end, said
            time.sleep(0.2)


def says(page: Page, *words: str) -> None:
    """Wait until all words can be seen."""
    for word in words:
        page.wait_for(f"document.body && document.body.innerText.includes({word!r})", _PATIENCE)


def named(text: str) -> str:
    """The innermost element with just this text."""
    return (
        f"[...document.querySelectorAll('body *')].filter(one => one.textContent.trim() === {text!r}).pop()"
    )


def checkbox(run: str) -> str:
    """The box beside a run; the table's row is drawn in several pieces."""
    row = f"[...document.querySelectorAll('[row-id]')].find(row => row.innerText.includes({run!r}))"
    box = "document.querySelector(`[row-id=\"${row.getAttribute('row-id')}\"] input[type=checkbox]`)"
    return f"(row => row && {box})({row})"


def test_runs_charts_and_comparison(server: str, tmp_path: Path) -> None:
    folder = tmp_path / "browser"
    folder.mkdir()
    with browser(folder) as page:
        page.size(1500, 1000)
        page.open(f"{server}/#/experiments")
        page.click(named("Model training"))  # what it opens with is for traces; this is where runs are
        page.click(named("toy"))

        says(page, "3 matching runs", *MEANS)
        says(page, "toys (0123)")  # the dataset, in MLflow's own place for it
        experiment = page.wait_for("(location.hash.match(/experiments\\/(\\d+)/) || [])[1]")

        page.open(
            f"{server}/#/experiments/{experiment}/runs?compareRunsMode=CHART&workflowType=machine_learning"
        )
        says(page, "Model metrics", "quality", *(f"{mean:.2f}" for mean in (0.88, 0.63, 0.38)))

        page.open(
            f"{server}/#/experiments/{experiment}/runs?compareRunsMode=TABLE&workflowType=machine_learning"
        )
        says(page, "3 matching runs")
        for model in ("m/first", "m/second"):
            page.click(checkbox(model))
            page.wait_for(f"(box => box && box.checked)({checkbox(model)})")
        page.click(named("Compare"))
        says(page, "Comparing 2 Runs from 1 Experiment", "m/first", "m/second")
        says(page, "quality", "0.875", "0.625", "temperature")
        outside = [one for one in page.requests if not one.startswith((server, "data:", "blob:", "about:"))]
        assert outside == [], "the UI talks to nobody else"
