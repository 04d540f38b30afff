#!/usr/bin/env bash
# Builds the wheel, installs it in a virtual environment of its own, and runs it from another folder.
set -euo pipefail
python="${1:-python3}"
root="$(cd "$(dirname "$0")/.." && pwd)"
place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT
cd "$root"
rm -rf build/lib build/bdist.*  # or modules that are gone would be packed again
"$root/.venv/bin/python" -m pip wheel --quiet --no-deps --no-build-isolation --disable-pip-version-check -w "$place/dist" .
"$python" -m venv "$place/venv"
"$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check -c "$root/constraints.txt" "$place"/dist/*.whl
mkdir "$place/elsewhere"
cd "$place/elsewhere"
"$place/venv/bin/inspect" eval clinical_evals/grounding --model replay/faithful --display none
"$place/venv/bin/clinical-evals" leaderboard --format json > leaderboard.json
"$place/venv/bin/python" - <<'PYTHON'
import json, pathlib, clinical_evals
assert "site-packages" in clinical_evals.__file__, clinical_evals.__file__
text = pathlib.Path("leaderboard.json").read_text()
assert "replay/faithful" in text, text
print("wheel: ranked", json.loads(text) and "replay/faithful", "from an installed wheel")
PYTHON
