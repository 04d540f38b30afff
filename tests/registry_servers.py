"""Real servers for the tests of the registry: MLflow, one that misbehaves in front of it, and a team's."""

import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

Trouble = Literal["none", "down", "slow", "500", "before", "after", "midway"]
"""What a server does wrong. The last three: it dies before, after or while answering the n-th request."""

SLOW = 10.0
DOCUMENT = Path(__file__).parents[1] / "docs" / "team-server.md"


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def mlflow_server(folder: Path) -> Iterator[int]:
    """Run a real MLflow server on SQLite; yields its port."""
    port = free_port()
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", "1", "--backend-store-uri", f"sqlite:///{folder / 'server.db'}"]
    command += ["--artifacts-destination", str(folder / "server-artifacts")]
    quiet = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, env=quiet, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_until_healthy(port)
        yield port
    finally:
        end_group(server.pid)
        server.wait()


def wait_until_healthy(port: int) -> None:
    """Wait until an MLflow server answers."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return
        time.sleep(0.2)
    raise TimeoutError(f"no MLflow server on port {port}")


def end_group(leader: int) -> None:
    """Kill a process that leads a group, and the group."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


@dataclass(slots=True)
class Proxy:
    """An HTTP server in front of another one, which misbehaves as told.

    Attributes:
        target: Port of the server behind it.
        trouble: What it does wrong.
        dies_at: At which request it dies.
        stays_dead: Whether it answers nothing after that, until `trouble` is set anew.
        seen: Number of requests since then.
    """

    target: int
    port: int = 0
    trouble: Trouble = "none"
    dies_at: int = 0
    stays_dead: bool = True
    seen: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def misbehave(self, trouble: Trouble, dies_at: int = 0, stays_dead: bool = True) -> None:
        """Start to misbehave, or to behave."""
        self.trouble, self.dies_at, self.stays_dead, self.seen = trouble, dies_at, stays_dead, 0

    def trouble_now(self) -> Trouble:
        """Count a request, and tell what goes wrong with it."""
        with self.lock:
            self.seen += 1
            if self.trouble not in ("before", "after", "midway") or self.seen == self.dies_at:
                return self.trouble
            return "down" if self.seen > self.dies_at and self.stays_dead else "none"


@contextmanager
def proxy(target: int) -> Iterator[Proxy]:
    """Run a server that misbehaves."""
    state = Proxy(target)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            trouble = state.trouble_now()
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.close_connection = trouble != "none"
            if trouble in ("down", "before"):
                return
            if trouble == "500":
                self.send_error(500)
                return
            if trouble == "slow":
                time.sleep(SLOW)
            behind = http.client.HTTPConnection("127.0.0.1", state.target, timeout=60)
            behind.request(self.command, self.path, body, dict(self.headers))
            answer = behind.getresponse()
            content = answer.read()
            behind.close()
            if trouble == "after":
                return
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "text/plain"))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if trouble == "midway" else content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


def why_no_postgres() -> str | None:
    """Say why no PostgreSQL can be started here; None if one can."""
    if not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    if os.geteuid() == 0 and shutil.which("runuser") is None:
        return "PostgreSQL does not run as root, and there is no runuser"
    for module in ("psycopg2", "flask_wtf"):
        if subprocess.run(
            [sys.executable, "-c", f"import {module}"], capture_output=True, check=False
        ).returncode:
            return f"{module} is not installed (pip install 'clinical-evals[dev]')"
    return None


@dataclass(slots=True)
class Team:
    """A team's server as docs/team-server.md sets it up.

    Attributes:
        folder: Where all of it lies.
        leader: Leader of the process group of the MLflow server.
    """

    folder: Path
    environment: dict[str, str]
    leader: int = 0

    @property
    def port(self) -> int:
        return int(self.environment["MLFLOW_PORT"])

    def block(self, name: str) -> str:
        """Run a block of the page as it stands, with our settings; returns what it prints."""
        command = ["bash", "-euo", "pipefail", "-c", _blocks()[name]]
        if os.geteuid() == 0 and (name == "passwords" or "database" in name):
            command = ["runuser", "-u", "postgres", "--", *command]
        run = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        output, _ = run.communicate(timeout=150)
        logs = [path.read_text()[-2000:] for path in self.folder.glob("*.log")]
        assert run.returncode == 0, (f"block '{name}' ended with {run.returncode}", *logs)
        if name == "server":
            self.leader = run.pid
        return output

    def user(self, name: str) -> dict[str, str]:
        """Return what a user's file sets."""
        pairs = re.findall(r"(\w+)=(\S+)", (self.folder / f"{name}.env").read_text())
        return dict(pairs)


@contextmanager
def team_server() -> Iterator[Team]:
    """Run PostgreSQL and an MLflow server with user names and passwords, by the commands of the page."""
    folder = Path(tempfile.mkdtemp(prefix="team-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    settings = {"REGISTRY": str(folder), "PGPORT": str(free_port()), "MLFLOW_PORT": str(free_port())}
    assert all(f"{name}=" in _blocks()["settings"] for name in settings)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    team = Team(folder, os.environ | settings | {"PATH": path, "LC_ALL": "C.UTF-8"})
    try:
        for name in ("passwords", "database", "server", "users"):
            team.block(name)
        yield team
    finally:
        if team.leader:
            end_group(team.leader)
        with suppress(AssertionError):
            team.block("stop the database")
        shutil.rmtree(folder, ignore_errors=True)


def _blocks() -> dict[str, str]:
    """Return the page's `bash` blocks by their first line."""
    found = re.findall(r"```bash\n# ([^\n]+)\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return dict(found)


def listening(port: int) -> set[str]:
    """Return the addresses, as the kernel writes them, on which somebody listens on a port (Linux)."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            address, _, hexadecimal = line.split()[1].partition(":")
            if int(hexadecimal, 16) == port and line.split()[3] == "0A":
                found.add(address)
    return found
