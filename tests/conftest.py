"""What every test file may ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from inspect_ai.model import _model
from registry_toys import end_senders


@pytest.fixture(autouse=True)
def forget_models() -> Iterator[None]:
    """Let no test meet a model that an earlier one has made: it would ask a server that is gone."""
    yield
    _model._models.clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Run the test in a folder of its own, with the default registry in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("MLFLOW_TRACKING_URI", "CLINICAL_EVALS_REGISTRY", "CLINICAL_EVALS_LOG_TEXT"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    end_senders()


@pytest.fixture
def unregistered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in a folder of its own, without a registry unless the test switches it on."""
    monkeypatch.setenv("CLINICAL_EVALS_REGISTRY", "off")
    return folder
