"""Restricted data never reach a hosted model: a server that stands for one counts what it was asked."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import Model, ModelAPI, ModelOutput, get_model, modelapi
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspecting import inspect_eval as inspect_cli
from openai_server import answer, completion

from clinical_evals.data import read_card
from clinical_evals.data_path import bundled
from clinical_evals.data_use import DataUse, check_data_use, data_use, endpoints, may_log_text, read_data_use
from clinical_evals.files import InputError
from clinical_evals.notes import load_notes

NOTE = {
    "id": "n1",
    "note": "Asthma is stable today. Takes albuterol 90 mcg as needed. Follow up in two weeks.",
}
RESTRICTED = DataUse("notes.jsonl", "restricted", log_text=False)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give keys to providers that look for one, and no address to any."""
    for name in list(os.environ):
        if name.endswith("_BASE_URL") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name in ("OPENAI", "LOCAL", "TOGETHER", "OPENROUTER", "AZUREAI_OPENAI"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-none")
    monkeypatch.setenv("CLINICAL_EVALS_REGISTRY", "off")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A dataset in a file, with a card beside it that says `restricted`."""
    folder = tmp_path / "ward"
    folder.mkdir()
    (folder / "notes.jsonl").write_text(json.dumps(NOTE) + "\n", encoding="utf-8")
    write_card(folder, "access: restricted")
    return folder / "notes.jsonl"


def write_card(folder: Path, *lines: str) -> None:
    text = "\n".join(["---", "name: ward notes", "version: 1.10", *lines, "---", "# Ward notes", ""])
    (folder / "README.md").write_text(text, encoding="utf-8")


def place(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def refused(folder: Path, *arguments: str, base_url: str) -> str:
    """Run the real command, which must end without a log, and return what it said, on one line."""
    command = [str(Path(sys.executable).with_name("inspect")), "eval", "clinical_evals/grounding", *arguments]
    done = subprocess.run(
        [*command, "--display", "plain", "--log-dir", str(folder / "logs")],
        cwd=folder,
        env={**os.environ, "LOCAL_BASE_URL": base_url},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert not (folder / "logs").exists()
    return " ".join((done.stdout + done.stderr).split())


@dataclass
class Server:
    """One server under two addresses: 127.0.0.1, and the machine's own as others see it.

    To the rule the second is as far away as any host.
    """

    port: int
    asked: int = 0

    @property
    def local(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def hosted(self) -> str:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("198.51.100.1", 9))  # sends nothing
                address = str(probe.getsockname()[0])
            except OSError:
                address = "127.0.0.1"
        if address.startswith(("127.", "0.")):
            pytest.skip("this machine has no address but 127.0.0.1")
        return f"http://{address}:{self.port}/v1"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Count requests of any kind, and answer those for a completion."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            counted.asked += 1
            sent = bytes(completion(body["model"], answer(body["messages"])).body)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def do_GET(self) -> None:
            counted.asked += 1
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("0.0.0.0", 0), Handler)
    counted = Server(listening.server_port)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    yield counted
    listening.shutdown()
    listening.server_close()


def test_a_restricted_set_makes_no_request_to_a_hosted_model(
    server: Server, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ("-T", f"dataset={notes}", "--model", "openai-api/local/copier")
    before = server.asked
    said = refused(tmp_path, *run, base_url=server.hosted)
    assert server.asked == before
    assert "data-use rule:" in said
    assert "is restricted and must not be sent to openai-api/local/copier" in said
    assert "Asthma" not in said
    # A grader is a model too, also as one of several.
    graders = "grader=openai-api/near/m,openai-api/far/m"
    for name, url in (("NEAR", server.local), ("FAR", server.hosted)):
        monkeypatch.setenv(f"{name}_BASE_URL", url)
        monkeypatch.setenv(f"{name}_API_KEY", "sk-none")
    said = refused(tmp_path, *run, "--model-role", graders, base_url=server.local)
    assert server.asked == before
    assert "must not be sent to openai-api/far/m" in said
    log = inspect_cli(place(tmp_path, "1"), *run, env={"LOCAL_BASE_URL": server.local})
    assert log.status == "success"
    assert server.asked == before + 2
    # The same data with a card that names the host.
    write_card(notes.parent, "access: restricted", f"allowed_hosts: [{server.hosted}]")
    log = inspect_cli(place(tmp_path, "2"), *run, env={"LOCAL_BASE_URL": server.hosted})
    assert log.status == "success"
    assert server.asked == before + 4


@solver
def asks() -> Solver:
    """A solver of somebody else, which asks at once."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        await get_model(role="grader").generate("note")
        return await generate(state)

    return solve


def test_models_that_a_task_brings_along_are_refused_too(server: Server, notes: Path, tmp_path: Path) -> None:
    before = server.asked
    # Nothing is known of models when this task is built, and its solver is not ours.
    task = Task(
        dataset=MemoryDataset([Sample(id="n1", input="note")]), setup=data_use([str(notes)]), solver=asks()
    )
    local = get_model("openai-api/local/copier", base_url=server.local)
    far = get_model("openai-api/local/copier", base_url=server.hosted)
    for model, grader in ((far, local), (local, far)):
        roles = {"grader": grader}
        (log,) = inspect_eval(task, model, model_roles=roles, display="none", log_dir=str(tmp_path / "logs"))
        assert log.status == "error"
        assert server.asked == before
    (log,) = inspect_eval(
        task, local, model_roles={"grader": local}, display="none", log_dir=str(tmp_path / "logs")
    )
    assert log.status == "success"
    assert server.asked == before + 2


def test_finished_extractions_have_a_card_of_their_own(server: Server, notes: Path, tmp_path: Path) -> None:
    open_notes = tmp_path / "open.jsonl"
    open_notes.write_text(json.dumps(NOTE) + "\n", encoding="utf-8")
    finished = notes.parent / "claims.jsonl"
    finished.write_text(json.dumps({"id": "n1", "problems": ["asthma"]}) + "\n", encoding="utf-8")
    before = server.asked
    arguments = [
        "-T",
        f"dataset={open_notes}",
        "-T",
        f"extractions={finished}",
        "--model",
        "openai-api/local/copier",
    ]
    assert "data-use rule:" in refused(tmp_path, *arguments, base_url=server.hosted)
    assert server.asked == before


def allowed(use: DataUse, *models: Model) -> bool:
    try:
        check_data_use([use], models)
    except PrerequisiteError:
        return False
    return True


LOCAL = [
    "http://localhost:8000/v1", "http://LOCALHOST/v1", "http://127.0.0.1:1/v1", "https://127.8.9.1/v1",
    "http://[::1]:8000/v1",
]  # fmt: skip
HOSTED = [
    "https://api.example.org/v1", "http://10.0.0.5:8000/v1", "http://0.0.0.0:8000/v1", "http://localhost.example.org/v1",
    "http://127.0.0.1.example.org/v1", "http://127.0.0.1@example.org/v1", "http://u:127.0.0.1@10.0.0.5/v1",
    "http://[fd00::2]:8000/v1", "http://example.org/127.0.0.1", "http://example.org:80/?h=localhost",
]  # fmt: skip


@pytest.mark.parametrize("address", LOCAL + HOSTED)
def test_what_is_local_is_told_by_the_address(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert allowed(RESTRICTED, get_model("openai-api/local/m", base_url=address)) == (address in LOCAL)
    assert allowed(RESTRICTED, get_model("openai/gpt-4o", base_url=address)) == (address in LOCAL)
    assert allowed(RESTRICTED, get_model("vllm/m", base_url=address, memoize=False)) == (address in LOCAL)
    assert allowed(DataUse("x", "unspecified"), get_model("openai-api/local/m", base_url=address))
    for name in ("openai-api/local/env", "ollama/llama", "openai/env", "vllm/env"):
        with monkeypatch.context() as patch:
            variable = "LOCAL" if "local" in name else name.partition("/")[0].upper()
            patch.setenv(f"{variable}_BASE_URL", address)
            assert allowed(RESTRICTED, get_model(name, memoize=False)) == (address in LOCAL), name


def test_providers_without_a_base_url() -> None:
    for local in (
        "ollama/llama",
        "llama-cpp-python/m",
        "vllm/m",
        "mockllm/model",
        "none/none",
        "replay/faithful",
    ):
        assert allowed(RESTRICTED, get_model(local, memoize=False)), local
    for far in ("openai/gpt-4o", "together/m", "openrouter/m", "openai/azure/gpt"):
        if far.startswith("openai/azure"):
            model = get_model(far, base_url="https://ward.openai.azure.com")
        else:
            model = get_model(far, memoize=False)
        assert not allowed(RESTRICTED, model), far


@modelapi(name="far")
class FarAPI(ModelAPI):
    """A provider that nobody knows: its base URL may say anything."""

    async def generate(self, *_: object) -> ModelOutput:
        raise AssertionError("asked")


def test_an_unknown_provider_is_hosted_whatever_it_says() -> None:
    for base_url in (None, "http://127.0.0.1:1"):
        assert not allowed(RESTRICTED, get_model("far/m", base_url=base_url))
    named = DataUse("x", "restricted", allowed_models=("far/*",))
    assert allowed(named, get_model("far/m"))
    assert not allowed(named, get_model("far/m", base_url="https://elsewhere.example.org"))


def test_allow_lists() -> None:
    host, model = "llm.example.org", "openai-api/local/m"
    at_host = get_model(model, base_url=f"https://{host}:8443/v1")
    assert allowed(DataUse("x", "restricted", allowed_hosts=(host,)), at_host)
    assert allowed(DataUse("x", "restricted", allowed_hosts=(f"{host}:8443",)), at_host)
    assert not allowed(DataUse("x", "restricted", allowed_hosts=(f"{host}:443", "example.org", "*")), at_host)
    own = DataUse("x", "restricted", allowed_models=("openai/gpt-4o", "together/*"))
    assert allowed(own, get_model("openai/gpt-4o"), get_model("together/any", memoize=False))
    assert not allowed(own, get_model("openai/gpt-4o-mini"))
    # A name says nothing where a base URL sends the requests elsewhere.
    assert not allowed(own, get_model("openai/gpt-4o", base_url="https://elsewhere.example.org/v1"))
    assert not allowed(DataUse("x", "restricted", allowed_models=("*",)), at_host)
    # One that may not is enough, and a list holds for public data as well.
    assert not allowed(own, get_model("openai/gpt-4o"), get_model("openrouter/m"))
    assert not allowed(DataUse("x", "public", allowed_hosts=(host,)), get_model("openrouter/m"))


def test_a_proxy_reads_open_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    model = get_model("openai-api/local/m", base_url="http://127.0.0.1:8000/v1")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example.org:3128")
    assert not allowed(RESTRICTED, model)
    assert "proxy.example.org:3128" in endpoints([model])[0].hosts
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert allowed(RESTRICTED, model)


def test_cards(notes: Path, tmp_path: Path) -> None:
    folder = notes.parent
    assert load_notes(str(notes)).model_dump(include={"name", "version", "access"}) == {
        "name": "ward notes", "version": "1.10", "access": "restricted",
    }  # fmt: skip
    write_card(
        folder,
        'access: "Restricted"  # by contract',
        "allowed_hosts:",
        "  - https://LLM.example.org/v1",
        "  - h:8000",
    )
    use = read_data_use(str(notes))
    assert (use.access, use.allowed_hosts, use.log_text) == (
        "restricted",
        ("llm.example.org", "h:8000"),
        False,
    )
    write_card(folder, "access: restricted", "allowed_models: openai/gpt-4o, together/*", "log_text: allowed")
    use = read_data_use(str(folder))
    assert (use.allowed_models, use.log_text) == (("openai/gpt-4o", "together/*"), True)
    assert may_log_text([str(notes), None, "bundled"])
    assert read_data_use(str(tmp_path / "elsewhere.jsonl")).access == "unspecified"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\naccess: restriced\n---\n", "field 'access' must be one of"),
        ("---\naccess: restricted\n", "no second line"),
        ("---\naccess: [restricted\n---\n", "no 'key: value' lines"),
        ("---\n- restricted\n---\n", "no 'key: value' lines"),
    ],
)
def test_a_card_with_a_slip_opens_nothing(notes: Path, text: str, said: str) -> None:
    (notes.parent / "README.md").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_data_use(str(notes))
    with pytest.raises(PrerequisiteError, match=said):
        data_use([str(notes)])
    with pytest.raises(InputError, match=said):
        load_notes(str(notes))


@pytest.mark.parametrize("text", ["# Just a readme\n\naccess: restricted\n", "", "---\nlicense: mit\n---\n"])
def test_a_readme_that_is_no_card_changes_nothing(notes: Path, text: str) -> None:
    (notes.parent / "README.md").write_text(text, encoding="utf-8")
    assert read_data_use(str(notes)) == DataUse(str(notes), "unspecified")
    assert load_notes(str(notes)).name == "notes"


@pytest.mark.parametrize("folder", ["notes", "decomposition", "dialogues", "value_sets"])
def test_bundled_cards_state_access_and_licence(folder: str) -> None:
    card = bundled(folder, "README.md")
    assert read_card(card)["access"] in ("synthetic", "public")
    assert "**Licence**" in card.read_text(encoding="utf-8")
