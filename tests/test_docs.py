"""What the documents say is there, and what is there is in the documents."""

import re
import tomllib
from itertools import chain

from inspecting import ROOT

from clinical_evals import tasks
from clinical_evals.cli import _COMMANDS
from clinical_evals.grounding.attacks import ATTACKS
from clinical_evals.grounding.evidence import REASONS
from clinical_evals.ontology.figures import FIGURES, GAP, INVALID
from clinical_evals.replay import bundled_fixtures
from clinical_evals.summary.figures import OVERALL

README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = README + "".join(page.read_text(encoding="utf-8") for page in sorted(ROOT.glob("docs/*.md")))
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_every_name_a_user_meets_is_in_the_readme() -> None:
    names = [f"clinical-evals {command}" for command in _COMMANDS]
    names += [f"replay/{name}" for name in bundled_fixtures()]
    names += [f"`{task}`" for task in tasks.__all__]
    names += ["published_score", "strict_score", "recall", "grounded_f1", "injection_success", *REASONS]
    assert [name for name in names if name not in README] == []


def test_every_attack_and_figure_is_in_the_docs() -> None:
    names = [*ATTACKS, *FIGURES, *GAP, *INVALID, OVERALL, "fact_support", "fact_f1", "token_f1", "soap_f1"]
    assert [name for name in names if name not in DOCS] == []
    assert "@@" not in DOCS


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    everything = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    names = [re.split(r"[<>=\[~]", line)[0] for line in everything]
    assert [name for name in names if name not in CONTRIBUTING] == []
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower().replace("_", "-")
    assert [name for name in names if f"{name.lower()}==" not in pinned] == []


def test_paths_named_in_the_readme_exist() -> None:
    paths = re.findall(r"(?:datasets|tasks|scorers|src|benchmarks|docs)/[\w./-]+\.\w+", DOCS)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_table_in_the_readme_is_of_this_code() -> None:
    facts = (tasks.grounding().metadata or {})["clinical_evals"]
    printed = " ".join(README.split())
    assert f"scorer: {facts['signature']} " in printed, "print it anew with make demo"
    assert facts["dataset"]["digest"] in printed


def test_no_module_is_long() -> None:
    modules = [*ROOT.glob("src/**/*.py"), *ROOT.glob("tasks/*.py"), *ROOT.glob("scorers/*.py")]
    assert [str(path) for path in modules if len(path.read_text(encoding="utf-8").splitlines()) > 400] == []
