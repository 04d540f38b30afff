"""What the registry costs a run: 2,000 trivial samples with it beside without it, as ratios.

The runs are taken in turns in one process, each round in another order, so that a machine that grows slower
favours none: no registry, the local one, and a server that is down, slow (10 s a call) or answers 500. The
same task is also run by an environment of its own that has `inspect-mlflow`, which is made on first use, once
without its hook and once with it, into SQLite. The time is that of `inspect_ai.eval` from call to return.
Run: python benchmarks/registry_overhead.py
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from peers import python_with
from trivial_run import seconds

from clinical_evals.registry import hook

TARGET = 1.03


def start_server(delay: float, code: int) -> str:
    """Start a server that answers nothing but one code, after a while; returns its address."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            time.sleep(delay)
            self.send_error(code)

        do_GET = do_POST = answer

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing of clients that do not wait for the answer."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


Cost = tuple[float, float]
"""Seconds of a run: by the clock, and of its process's processors, which other work does not lengthen."""


def one_run(samples: int, registry: str, uri: str) -> Cost:
    """Time one run with a registry, and end what it has started, which must not slow the next."""
    os.environ["CLINICAL_EVALS_REGISTRY"] = registry
    os.environ["MLFLOW_TRACKING_URI"] = uri
    took = seconds(samples)
    for child in hook._children:
        if uri:
            child.kill()
        child.wait()
    return took


def peer(python: Path, samples: int, hook_on: bool) -> Cost:
    """Time one run in an environment of its own; its hook does nothing without a tracking address."""
    script = Path(__file__).with_name("trivial_run.py").absolute()
    environment = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true"}
    environment.pop("MLFLOW_TRACKING_URI", None)
    if hook_on:
        environment["MLFLOW_TRACKING_URI"] = "sqlite:///peer.db"
    done = subprocess.run(
        [python, str(script), str(samples)], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    clock, processors = map(float, done.stdout.split()[-2:])
    return clock, processors


def main() -> None:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--arms", default="off,local,down,slow,500", help="Which to run; off is needed.")
    parser.add_argument("--no-peer", action="store_true", help="Leave inspect-mlflow out.")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    python = None if options.no_peer else python_with("inspect-mlflow", "inspect_mlflow", "mlflow")
    arms = {
        "off": ("off", ""),
        "local": ("on", ""),
        "down": ("on", "http://127.0.0.1:9"),
        "slow": ("on", start_server(10, 500)),
        "500": ("on", start_server(0, 500)),
    }
    arms = {name: arms[name] for name in options.arms.split(",")}
    runs: dict[str, list[Cost]] = {name: [] for name in arms}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        one_run(50, "off", "")  # imports
        one_run(50, "on", "")
        for number in range(options.rounds):
            order = list(arms)
            for name in order[number % len(order) :] + order[: number % len(order)]:
                runs[name].append(one_run(options.samples, *arms[name]))
        if python is not None:
            for name, hook_on in (("peer off", False), ("peer on", True)):
                runs[name] = [peer(python, options.samples, hook_on)]
        os.chdir(Path(folder).parent)
    ratios = {
        name: [
            statistics.median(on[way] / off[way] for on, off in zip(costs, runs["off"], strict=True))
            for way in (0, 1)
        ]
        for name, costs in runs.items()
        if name not in ("off", "peer off", "peer on")
    }
    if python is not None:
        ratios["inspect-mlflow"] = [runs["peer on"][0][way] / runs["peer off"][0][way] for way in (0, 1)]
    result = {
        "samples": options.samples,
        "seconds": {name: [round(clock, 2) for clock, _ in costs] for name, costs in runs.items()},
        "processor_seconds": {name: [round(used, 2) for _, used in costs] for name, costs in runs.items()},
        "ratio": {name: round(clock, 3) for name, (clock, _) in ratios.items()},
        "processor_ratio": {name: round(used, 3) for name, (_, used) in ratios.items()},
        "target": TARGET,
    }
    if options.json:
        print(json.dumps(result))
        return
    print(f"{options.samples} samples; seconds by run, and of processors")
    for name, costs in runs.items():
        print(f"{name:>16}  {'  '.join(f'{clock:.2f} {used:.2f}' for clock, used in costs)}")
    print(f"ratio to the run without a registry, median of rounds (target {TARGET}), and of processors")
    for name, (clock, used) in ratios.items():
        print(f"{name:>16}  {clock:.3f}  {used:.3f}")


if __name__ == "__main__":
    main()
