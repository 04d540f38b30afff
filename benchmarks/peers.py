"""Other people's packages, each in a virtual environment of its own, so that both can be timed in one run."""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path


def python_with(package: str, module: str, *others: str) -> Path | None:
    """Give a Python that can import a package, installing it on first use.

    Args:
        package: Its name in the index.
        module: What must be importable.
        *others: Packages that it needs beside itself.

    Returns:
        The Python; None where the package cannot be had, without an index, say.
    """
    folder = Path(tempfile.gettempdir()) / f"clinical-evals-{package}"
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    imports = [python, "-c", f"import {module}"]
    if python.exists() and not subprocess.run(imports, capture_output=True, check=False).returncode:
        return python
    print(f"installing {package} into {folder}", file=sys.stderr)
    venv.create(folder, with_pip=True, clear=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package, *others]
    for command in (install, imports):
        if subprocess.run(command, capture_output=True, check=False).returncode:
            print(f"{package} cannot be had here; it is left out", file=sys.stderr)
            return None
    return python
