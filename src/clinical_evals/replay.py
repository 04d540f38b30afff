"""The model `replay/NAME`: answers from a fixture file instead of a network.

`NAME` is a bundled fixture (`faithful`), or a path to a `.jsonl` file or to a folder that holds one
`TASK.jsonl` per task. The first line of a file says where its answers come from: `{"about": "..."}`. Each
further line is one answer: `{"sample", "step", "output", "epoch"?, "stop_reason"?}`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from inspect_ai.model import (
    ChatMessage,
    ChatMessageUser,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from clinical_evals.data_path import bundled
from clinical_evals.options import refusal
from clinical_evals.reading import DuplicateKeyError, unique_keys

METADATA_KEY = "clinical_evals"
"""Key of the call's address in the metadata of its last user message."""

StopReason = Literal["stop", "max_tokens", "content_filter"]
_FIELDS = {"sample", "step", "output", "epoch", "stop_reason"}


class ReplayError(Exception):
    """A fixture that cannot be used, or that has no answer for a call; says nothing of notes or answers."""


@dataclass(frozen=True, slots=True)
class CallAddress:
    """Which call of which sample this is: `extract`, `ground/repair`, `injected/extract`, ..."""

    task: str
    sample: str
    step: str
    epoch: int

    @classmethod
    def of(cls, messages: list[ChatMessage]) -> "CallAddress | None":
        """Return the address that the solver wrote on the last user message, or None if there is none."""
        last = next((message for message in reversed(messages) if isinstance(message, ChatMessageUser)), None)
        address = (last.metadata or {}).get(METADATA_KEY) if last is not None else None
        if not isinstance(address, Mapping) or not {"task", "sample", "step"} <= address.keys():
            return None
        return cls(
            str(address["task"]), str(address["sample"]), str(address["step"]), int(address.get("epoch") or 1)
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """One replayed answer: the text as a model would write it, and why it stopped."""

    text: str
    stop_reason: StopReason


class Fixture:
    """The answers in one file, read once.

    Args:
        path: A JSONL file as described at the head of this module.

    Raises:
        ReplayError: If the file cannot be read, naming file, line and field.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.task: str | None = None
        """The task that the answers are for, if the first line names it."""
        self._answers: dict[tuple[str, str, int | None], Answer] = {}
        self._lines: dict[tuple[str, str, int | None], int] = {}
        try:
            # Not splitlines(): JSON strings may hold the other line separators, such as U+2028.
            lines = path.read_text(encoding="utf-8-sig").split("\n")
        except UnicodeDecodeError as error:
            raise ReplayError(f"{path}: not UTF-8 at byte {error.start}") from None
        except OSError as error:
            raise ReplayError(f"{path}: {error.strerror or type(error).__name__}") from None
        for number, line in enumerate(lines, 1):
            if line.strip() or number == 1:
                self._add(number, line)

    def find(self, address: CallAddress) -> Answer:
        """Return the answer to a call; a row without `epoch` answers every epoch that has no row of its own.

        Raises:
            ReplayError: If there is none.
        """
        if self.task is not None and self.task != address.task:
            raise ReplayError(f"{self.path} holds answers for task '{self.task}', not for '{address.task}'")
        for epoch in (address.epoch, None):
            answer = self._answers.get((address.sample, address.step, epoch))
            if answer is not None:
                return answer
        known = any(sample == address.sample for sample, _, _ in self._answers)
        raise ReplayError(
            f"{self.path} has no answer for task '{address.task}', sample '{address.sample}', "
            f"step '{address.step}', epoch {address.epoch}"
            + (" (it has other steps of this sample)" if known else " (it has no row of this sample)")
        )

    def _add(self, number: int, line: str) -> None:
        where = f"{self.path}, line {number}"
        row: object = None
        try:
            row = json.loads(line, object_pairs_hook=unique_keys)
        except DuplicateKeyError as error:
            raise ReplayError(f"{where}: {error}") from None
        except (ValueError, RecursionError):
            pass  # no object, as is said below
        if not isinstance(row, dict):
            raise ReplayError(f"{where}: not a JSON object")
        if number == 1:
            if not isinstance(row.get("about"), str):
                raise ReplayError(
                    f'{where}: the first line must be {{"about": "where the answers come from"}}'
                )
            self.task = row.get("task")
            return
        problem = _row_problem(row)
        if problem is not None:
            raise ReplayError(f"{where}: {problem}")
        key = (str(row["sample"]), row["step"], row.get("epoch"))
        if key in self._answers:
            raise ReplayError(
                f"{where}: sample '{key[0]}', step '{key[1]}' is already on line {self._lines[key]}"
            )
        output = row["output"]
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        self._answers[key] = Answer(text, row.get("stop_reason", "stop"))
        self._lines[key] = number


def _row_problem(row: dict[str, Any]) -> str | None:
    if unknown := row.keys() - _FIELDS:
        return f"unknown field '{min(unknown)}'; choose from: {', '.join(sorted(_FIELDS))}"
    checks = {
        "sample": isinstance(row.get("sample"), str | int),
        "step": isinstance(row.get("step"), str),
        "output": isinstance(row.get("output"), str | dict | list),
        "epoch": row.get("epoch") is None or (type(row["epoch"]) is int and row["epoch"] >= 1),
        "stop_reason": row.get("stop_reason", "stop") in get_args(StopReason),
    }
    field = next((field for field, good in checks.items() if not good), None)
    return None if field is None else f"field '{field}' is {'wrong' if field in row else 'missing'}"


@lru_cache(maxsize=32)
def _fixture(path: Path, _modified_ns: int) -> Fixture:
    return Fixture(path)


def load_fixture(path: Path) -> Fixture:
    """Return the fixture at `path`, read once per process unless the file changes."""
    try:
        modified_ns = path.stat().st_mtime_ns
    except OSError as error:
        raise ReplayError(f"{path}: {error.strerror or type(error).__name__}") from None
    return _fixture(path, modified_ns)


def bundled_fixtures() -> list[str]:
    """Return the names of the bundled fixtures."""
    try:
        return sorted(folder.name for folder in bundled("replays").iterdir() if folder.is_dir())
    except FileNotFoundError:
        return []


def _source(name: str) -> Path:
    """Return the folder or file that `replay/NAME` answers from."""
    names = bundled_fixtures()
    if name in names:
        return bundled("replays", name)
    path = Path(name)
    if path.is_dir() or (path.suffix == ".jsonl" and path.is_file()):
        return path
    raise refusal(
        f"replay: no fixture '{name}'. Choose from: {', '.join(names) or 'none bundled'}; "
        "or give the path of a .jsonl file or of a folder of TASK.jsonl files."
    )


@modelapi(name="replay")
class ReplayAPI(ModelAPI):
    """A model that answers from a fixture.

    Usage is counted in words between blanks, not in a tokenizer's tokens, so that nothing is downloaded.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the signature that Inspect asks for
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if model_args:
            raise refusal(f"replay: takes no model arguments, got {', '.join(sorted(model_args))}")
        self._source = _source(model_name)

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Return the fixture's answer to the call that the last user message's metadata names."""
        address = CallAddress.of(input)
        if address is None:
            raise ReplayError(
                f"replay/{self.model_name} answers only tasks that say which call this is: the last user "
                f"message carries no '{METADATA_KEY}' metadata with task, sample and step"
            )
        answer = load_fixture(self._file(address.task)).find(address)
        output = ModelOutput.from_content(
            model=f"replay/{self.model_name}", content=answer.text, stop_reason=answer.stop_reason
        )
        asked = sum(_words(message.text) for message in input)
        answered = _words(answer.text)
        output.usage = ModelUsage(input_tokens=asked, output_tokens=answered, total_tokens=asked + answered)
        return output

    async def count_text_tokens(self, text: str) -> int:
        """Count words: the default would download a tokenizer."""
        return _words(text)

    def max_connections(self) -> int:
        """Answers come from memory: nothing to hold back for."""
        return 1_000

    def _file(self, task: str) -> Path:
        if self._source.is_file():
            return self._source
        path = self._source / f"{task}.jsonl"
        if not path.is_file():
            tasks = sorted(file.stem for file in self._source.glob("*.jsonl"))
            raise ReplayError(
                f"{self._source} has no answers for task '{task}'; it has: {', '.join(tasks) or 'none'}"
            )
        return path


def _words(text: str) -> int:
    return len(text.split())
