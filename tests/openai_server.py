"""A small OpenAI-compatible server on 127.0.0.1 for tests that talk over real HTTP.

Its "model" is honest and simple: it extracts by copying sentences out of the note, and grades by looking
each claim up in the note's sentences; it summarises a dialogue by its turns with a number in them, and rates a
summary by the share of its words that were said. The model's name, or the header `X-Fault`, selects a fault from
`FAULTS`; every other name is the plain copier. Use it as

    with serve() as server:
        ...  # server.url, server.requests
"""

import asyncio
import json
import re
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

MAX_COPIED = 6
SLOW_SECONDS = 30.0

_NOTE = re.compile(r"<(note-\w+)>\n(.*)\n</\1>", re.DOTALL)
_DIALOGUE = re.compile(r"<(dialogue-\w+)>\n(.*)\n</\1>", re.DOTALL)
_SUMMARY = re.compile(r"<(summary-\w+)>\n(.*)\n</\1>", re.DOTALL)
_SENTENCE = re.compile(r"[^\s.!?](?:[^.!?\n]|[.!?](?!\s|$))*")
_DOSE = re.compile(r"\d\s?(?:mg|mcg|units|ml)\b", re.IGNORECASE)
_PLAN = re.compile(
    r"\b(?:continue|start|order|refer|referral|repeat|schedule|follow[ -]?up|recommend)", re.IGNORECASE
)


@dataclass(frozen=True)
class Call:
    """One request to /chat/completions, as the server saw it."""

    model: str
    fault: str
    messages: list[dict[str, Any]]
    response_format: dict[str, Any] | None
    authorization: str


@dataclass
class Server:
    """A running server: its address and what it was asked."""

    url: str = ""
    requests: list[Call] = field(default_factory=list)

    def count(self, model: str | None = None) -> int:
        """Return how many completions were asked for, of one model or of all."""
        return sum(model is None or call.model == model for call in self.requests)


def sentences(text: str) -> list[str]:
    """Return the text's sentences and list items, trimmed, each an unbroken stretch of it."""
    return [match[0].strip(" -*•\t\r") for match in _SENTENCE.finditer(text)]


def extract(note: str) -> dict[str, Any]:
    """Copy sentences of 3 to 25 words out of the note, each once, up to `MAX_COPIED` of each kind."""
    found: dict[str, Any] = {"problems": [], "medications": [], "plan": []}
    usable = [sentence for sentence in sentences(note) if 3 <= len(sentence.split()) <= 25]
    for sentence in dict.fromkeys(usable):
        if _PLAN.search(sentence):
            found["plan"].append({"activity": sentence})
        elif _DOSE.search(sentence):
            found["medications"].append({"name": sentence, "dosage": None, "frequency": None, "route": None})
        else:
            found["problems"].append({"condition": sentence, "status": None})
    return {kind: items[:MAX_COPIED] for kind, items in found.items()}


def grade(note: str, claims: list[dict[str, str]]) -> dict[str, Any]:
    """Grade claims: word for word in a sentence is grounded, half the words in one is partial."""
    candidates = sentences(note)
    verdicts = []
    for claim in claims:
        words = set(_words(claim["claim"]))
        best = max(candidates, key=lambda sentence: len(words & set(_words(sentence))), default="")
        share = len(words & set(_words(best))) / max(1, len(words))
        exact = next((s for s in candidates if _folded(claim["claim"]) in _folded(s)), None)
        label = "grounded" if exact else "partial" if share >= 0.5 else "unsupported"
        quote = exact or (best if share >= 0.5 else None)
        verdicts.append(
            {"id": claim["id"], "label": label, "supportingQuote": quote, "rationale": "looked up"}
        )
    return {"verdicts": verdicts}


def summarise(dialogue: str) -> str:
    """Put together the turns that hold a number, a heading before them."""
    turns = [re.sub(r"^\W*\w+\W+", "", line) for line in dialogue.splitlines() if line.strip()]
    kept = [turn for turn in turns if re.search(r"\d", turn)] or turns[:3]
    return "SUBJECTIVE:\n" + "\n".join(kept[:MAX_COPIED]) + "\n\nPLAN:\nAs discussed."


def rate(dialogue: str, summary: str) -> dict[str, int]:
    """Rate a summary, 1 to 10 each: longer is more complete, words that were said are not invented."""
    said, written = set(_words(dialogue)), _words(summary)
    share = sum(word in said for word in written) / max(1, len(written))
    return {
        "Factual Completeness": max(1, min(10, len(written) // 20)),
        "No Hallucinations": max(1, round(10 * share)),
        "Clinical Tone & Structure": 8 if "SUBJECTIVE" in summary.upper() else 4,
    }


def fault_of(dialogue: str) -> str:
    """Name what the model `mixed` does with a dialogue: every fault in its turn, the same one each time."""
    return MIXED[zlib.crc32(dialogue.encode()) % len(MIXED)]


MIXED = ("flaky", "truncated", "prose", "refusal", "garbage", "repaired", "reasoning", "good")


def answer(messages: list[dict[str, Any]]) -> str:
    """Answer as the copier: what is asked for shows by what the question wraps, and by claims after a note."""
    asked = "\n".join(str(message["content"]) for message in messages if message["role"] == "user")
    dialogue, summary = _DIALOGUE.search(asked), _SUMMARY.search(asked)
    if dialogue is not None:
        return json.dumps(rate(dialogue[2], summary[2])) if summary else summarise(dialogue[2])
    wrapped = _NOTE.search(asked)
    if wrapped is None:
        return "There is no note to read."
    claims = [claim for line in asked[wrapped.end() :].splitlines() if (claim := _claim(line))]
    return json.dumps(grade(wrapped[2], claims) if claims else extract(wrapped[2]), ensure_ascii=False)


def _claim(line: str) -> dict[str, str] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) and {"id", "claim"} <= value.keys() else None


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def completion(model: str, content: str, finish_reason: str = "stop") -> JSONResponse:
    """Wrap an answer as a chat completion; usage is counted in words."""
    words = len(content.split())
    message = {"role": "assistant", "content": content}
    return JSONResponse(
        {
            "id": "chatcmpl-test",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
            "usage": {"prompt_tokens": words, "completion_tokens": words, "total_tokens": 2 * words},
        }
    )


def failure(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Give an error in the form of OpenAI's API."""
    return JSONResponse({"error": {"message": message, "type": "test"}}, status_code=status, headers=headers)


def _is_repair(call: Call) -> bool:
    return len([message for message in call.messages if message["role"] == "user"]) > 1


def _grades(call: Call) -> bool:
    return answer(call.messages).startswith(('{"verdicts"', '{"Factual'))


def _echo(call: Call) -> str:
    return f"cannot serve {call.authorization}: {call.messages[-1]['content']}"


def _retry_now() -> dict[str, str]:
    return {"retry-after": "0", "retry-after-ms": "1"}


# A fault gets the call and whether the same question was asked before, and answers in the copier's place.
Fault = Callable[[Call, bool], Response]


def _good(call: Call) -> JSONResponse:
    return completion(call.model, answer(call.messages))


def _truncated(call: Call, seen: bool) -> Response:
    text = answer(call.messages)
    return completion(call.model, text[: len(text) // 2], "length")


def _reasoning(call: Call, seen: bool) -> Response:
    text = f'<think>Draft: {{"verdicts": []}}? No.</think>\n```json\n{answer(call.messages)}\n```\nDone.'
    return completion(call.model, text)


def _mixed(call: Call, seen: bool) -> Response:
    wrapped = _DIALOGUE.search(str(call.messages[1]["content"]))
    fault = fault_of(wrapped[2]) if wrapped else "good"
    return FAULTS[fault](call, seen) if fault in FAULTS else _good(call)


def _without_schema(call: Call, seen: bool) -> Response:
    return failure(400, "response_format is not supported") if call.response_format else _good(call)


FAULTS: dict[str, Fault] = {
    "unauthorized": lambda call, seen: failure(401, f"Incorrect API key provided: {call.authorization}"),
    "echoing": lambda call, seen: failure(403, _echo(call)),
    "rate-limited": lambda call, seen: _good(call) if seen else failure(429, "slow down", _retry_now()),
    "flaky": lambda call, seen: _good(call) if seen else failure(500, "try again", _retry_now()),
    "no-schema": _without_schema,
    "truncated": _truncated,
    "prose": lambda call, seen: completion(
        call.model, f"Sure! Here:\n{answer(call.messages)}\nAnything else?"
    ),
    "reasoning": _reasoning,
    "empty": lambda call, seen: completion(call.model, ""),
    "refusal": lambda call, seen: completion(call.model, "", "content_filter"),
    "garbage": lambda call, seen: completion(call.model, "I would rather talk about the weather."),
    "repaired": lambda call, seen: _good(call) if _is_repair(call) else completion(call.model, "{'oops': "),
    "mixed": _mixed,
    "bad-grader": lambda call, seen: completion(call.model, "All good!") if _grades(call) else _good(call),
    "no-choices": lambda call, seen: JSONResponse({"error": {"message": _echo(call)}, "choices": None}),
    "web-page": lambda call, seen: HTMLResponse("<html>Sign in</html>"),
}
"""Faults by name; `slow`, which answers after `SLOW_SECONDS`, is the one more."""


def _app(server: Server) -> Starlette:
    asked: set[str] = set()

    async def chat(request: Request) -> Response:
        body = await request.json()
        fault = request.headers.get("x-fault", body["model"])
        call = Call(
            body["model"],
            fault,
            body["messages"],
            body.get("response_format"),
            request.headers.get("authorization", ""),
        )
        server.requests.append(call)
        question = json.dumps([fault, call.messages])
        seen = question in asked
        asked.add(question)
        if fault == "slow":
            await asyncio.sleep(SLOW_SECONDS)
        return FAULTS[fault](call, seen) if fault in FAULTS else _good(call)

    async def models(request: Request) -> Response:
        data = [{"id": name, "object": "model", "owned_by": "test"} for name in ("copier", "slow", *FAULTS)]
        return JSONResponse({"object": "list", "data": data})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/models", models),
        ]
    )


@contextmanager
def serve() -> Iterator[Server]:
    """Run a server in a thread on a free port of 127.0.0.1; `server.url` ends in /v1."""
    server = Server()
    config = uvicorn.Config(_app(server), port=0, log_level="critical", timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    socket = config.bind_socket()
    server.url = f"http://127.0.0.1:{socket.getsockname()[1]}/v1"
    thread = threading.Thread(target=running.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        running.should_exit = True
        thread.join(timeout=10)
        socket.close()
