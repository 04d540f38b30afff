"""The data-use rule: restricted data go only to models on this machine, or to those that their card names.

A dataset's card is the `README.md` in its folder or beside its file. Between two lines of `---` it may state:

    access: restricted                   # or synthetic, public
    allowed_hosts: [llm.example.org]     # may be sent there; a port counts if it is named
    allowed_models: [anthropic/*]        # may be sent to these, at their provider's own address
    log_text: allowed                    # its texts may go into the registry, for who asks for that

A task obeys by `setup=data_use([dataset])`, which Inspect runs also where `--solver` replaces the solver.
What cannot be told to be local counts as hosted. A program on this machine that passes requests on is not
seen.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from inspect_ai.model import Model, get_model, model_roles
from inspect_ai.model._model import active_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from .data import AccessClass, access_class, card_facts, card_of, read_card
from .data_path import given_path
from .files import InputError
from .options import refusal

__all__ = [
    "DataUse",
    "Endpoint",
    "check_data_use",
    "data_use",
    "endpoints",
    "may_log_text",
    "read_data_use",
]

BUNDLED = "bundled"
_PROVIDERS = "inspect_ai.model._providers"

logger = logging.getLogger(__name__)

# Providers that answer inside this process. Known by their code, as anybody may register a name.
_IN_PROCESS = {
    "clinical_evals.replay",
    *(f"{_PROVIDERS}.{name}" for name in ("hf", "mockllm", "nnterp", "none", "transformer_lens")),
}
_STARTS_SERVERS = (f"{_PROVIDERS}.vllm", f"{_PROVIDERS}.vllm_completions")

_OWN_HOSTS = {
    "anthropic": "api.anthropic.com",
    "cloudflare": "api.cloudflare.com",
    "deepseek": "api.deepseek.com",
    "fireworks": "api.fireworks.ai",
    "grok": "api.x.ai",
    "groq": "api.groq.com",
    "hf-inference-providers": "router.huggingface.co",
    "meta": "api.meta.ai",
    "moonshot": "api.moonshot.ai",
    "openai": "api.openai.com",
    "openrouter": "openrouter.ai",
    "perplexity": "api.perplexity.ai",
    "sambanova": "api.sambanova.ai",
    "together": "api.together.xyz",
}
"""Where a provider's requests go unless a base URL sends them elsewhere."""


@dataclass(frozen=True, slots=True)
class DataUse:
    """What a card says of the use of its data.

    Attributes:
        source: Which data, as the user named them.
        access: Their access class.
        allowed_hosts: Hosts, `HOST` or `HOST:PORT`, that they may be sent to.
        allowed_models: Models, as `provider/name` with `*` for anything, that they may be sent to.
        log_text: Their texts may go into the registry when that is asked for.
    """

    source: str
    access: AccessClass
    allowed_hosts: tuple[str, ...] = ()
    allowed_models: tuple[str, ...] = ()
    log_text: bool = True

    @property
    def is_limited(self) -> bool:
        """Whether the data may not be sent to just any model."""
        return self.access == "restricted" or bool(self.allowed_hosts or self.allowed_models)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model's requests go.

    Attributes:
        model: The model's name, `provider/name`.
        hosts: Every host that sees them, `HOST:PORT`, a proxy included; empty if it cannot be told.
        in_process: The model answers inside this process.
        redirected: A base URL takes the place of the provider's own address.
    """

    model: str
    hosts: tuple[str, ...] = ()
    in_process: bool = False
    redirected: bool = False

    @property
    def is_local(self) -> bool:
        """Whether no request leaves this machine, as far as can be told."""
        return self.in_process or (bool(self.hosts) and all(map(_is_loopback, self.hosts)))


def read_data_use(source: str) -> DataUse:
    """Read what the card of a dataset says; without one, the data are `unspecified` and may go anywhere.

    Args:
        source: A path as the user gave it, or the name of bundled data.

    Raises:
        InputError: If there is a card that cannot be read.
    """
    path = given_path(source)
    card = card_of(path) if source != BUNDLED and path.exists() else None
    if card is None:
        return DataUse(source, "unspecified")
    facts, access = card_facts(card), access_class(read_card(card).get("access", ""))
    said = str(facts.get("log_text", "")).strip().lower()
    return DataUse(
        source,
        access,
        tuple(_host_named(item) for item in _listed(facts.get("allowed_hosts"))),
        _listed(facts.get("allowed_models")),
        said in ("allowed", "yes", "true") if access == "restricted" or said else True,
    )


def may_log_text(sources: Sequence[str | None]) -> bool:
    """Tell whether the texts of all these data may go into the registry, for who asks for that.

    Args:
        sources: As for `data_use`.

    Raises:
        InputError: If a card cannot be read.
    """
    return all(use.log_text for use in _uses(sources))


def check_data_use(uses: Sequence[DataUse], models: Sequence[Model]) -> None:
    """Refuse to send limited data to a model that they may not go to.

    Args:
        uses: What the cards say; all must agree.
        models: Every model that a task may ask.

    Raises:
        PrerequisiteError: Names the data, the model, its host and the rule.
    """
    for use in uses:
        if use.is_limited:
            for endpoint in endpoints(models):
                if not _may_be_sent(use, endpoint):
                    raise refusal(_refusal(use, endpoint))


@solver
def data_use(sources: Sequence[str | None], *, asks_model: bool = True) -> Solver:
    """Obey the data-use rule: a task's setup, which refuses before the first call.

    Args:
        sources: The data that the task puts to models: paths as the user gave them, or names of bundled data;
            None is passed over.
        asks_model: The task asks the model under test, and not only those in roles.

    Raises:
        PrerequisiteError: If a card cannot be read, or forbids one of the models that are known already; or
            if the model to be asked is `none`.
    """
    try:
        uses = _uses(sources)
    except InputError as error:
        raise refusal(error) from None
    chosen = active_model()
    if chosen is not None:
        if asks_model and type(chosen.api).__module__ == f"{_PROVIDERS}.none":
            raise refusal("this task asks the model, and 'none' answers nothing: name one with --model")
        check_data_use(uses, [chosen, *_in_roles()])
        _warn_of_missing_cards(uses, [chosen, *_in_roles()])

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        # Once more, as a task may come with models of its own.
        check_data_use(uses, [get_model(), *_in_roles()])
        return state

    return solve


def _warn_of_missing_cards(uses: Sequence[DataUse], models: Sequence[Model]) -> None:
    """Say once that nothing tells where data may go which are about to leave this machine."""
    away = [endpoint.model for endpoint in endpoints(models) if not endpoint.is_local]
    for use in uses:
        if away and use.access == "unspecified" and use.source != BUNDLED and given_path(use.source).exists():
            logger.warning(
                "%s has no card that says where it may be sent; its texts go to %s. To forbid that, "
                "put a README.md beside it that opens with the lines '---', 'access: restricted', '---'",
                use.source,
                ", ".join(dict.fromkeys(away)),
            )


def _uses(sources: Sequence[str | None]) -> list[DataUse]:
    return [read_data_use(str(source)) for source in sources if source is not None]


def _in_roles() -> list[Model]:
    assigned: Sequence[Any] = list(model_roles().values())
    return [model for role in assigned for model in (role if isinstance(role, list) else [role])]


def endpoints(models: Sequence[Model]) -> list[Endpoint]:
    """Tell where the requests of models go, from the objects that send them."""
    return [_endpoint(str(model), model.api) for model in models]


def _endpoint(name: str, api: Any) -> Endpoint:
    module = type(api).__module__
    if module in _IN_PROCESS:
        return Endpoint(name, in_process=True)
    address = None
    if module in _STARTS_SERVERS:
        addresses = _server_addresses(api)
    else:
        if module.startswith(f"{_PROVIDERS}."):
            # The clients made from OpenAI's template know best where they send to. A provider of anybody
            # else may have a client and not use it.
            address = getattr(getattr(api, "client", None), "base_url", None)
        addresses = [str(address)] if address else []
    hosts = tuple(dict.fromkeys(host for address in addresses for host in _hosts(address)))
    base_url = getattr(api, "base_url", None) or os.environ.get("INSPECT_EVAL_MODEL_BASE_URL")
    goes_to = [_name(host) for host in hosts] or ([base_url] if base_url else [])
    own = _OWN_HOSTS.get(name.partition("/")[0])
    return Endpoint(name, hosts, redirected=any(place != own for place in goes_to))


def _server_addresses(api: Any) -> list[str]:
    """Addresses of a vLLM server; Inspect looks for one, or starts its own here, only at the first call."""
    missing = object()
    configured = getattr(api, "_init_base_url", missing)
    running = getattr(getattr(api, "_server", missing), "base_url", missing)
    if configured is missing or running is missing:
        return []
    found = [configured, running, api.base_url, os.environ.get("VLLM_BASE_URL")]
    return [str(address) for address in found if address] or ["http://localhost"]


def _hosts(address: str) -> list[str]:
    """The host of an address, and the proxy that would read a request to it; the unreadable is kept."""
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return [address]
    if parts.scheme in ("unix", "http+unix"):
        return ["localhost:0"]
    found = [_with_port(host, port or (443 if parts.scheme == "https" else 80))]
    proxies = urllib.request.getproxies()
    proxy = proxies.get("http") or proxies.get("all")
    # Through a proxy an https request stays sealed, an open one does not, not even one to 127.0.0.1.
    if parts.scheme == "http" and proxy and not urllib.request.proxy_bypass(host):
        passed = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        found.append(_with_port((passed.hostname or "a proxy").lower(), passed.port or 80))
    return found


def _with_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _name(host: str) -> str:
    """A host without its port."""
    return host.rpartition(":")[0].strip("[]")


def _is_loopback(host: str) -> bool:
    if _name(host) == "localhost":
        return True
    try:
        return ipaddress.ip_address(_name(host)).is_loopback
    except ValueError:
        return False


def _may_be_sent(use: DataUse, endpoint: Endpoint) -> bool:
    if endpoint.is_local:
        return True
    named = {*use.allowed_hosts, *(host.strip("[]") for host in use.allowed_hosts)}
    if endpoint.hosts and all(
        host in named or _name(host) in named or _is_loopback(host) for host in endpoint.hosts
    ):
        return True
    return not endpoint.redirected and any(
        fnmatchcase(endpoint.model, pattern) for pattern in use.allowed_models
    )


def _refusal(use: DataUse, endpoint: Endpoint) -> str:
    where = " and ".join(endpoint.hosts) or "an address that cannot be told"
    named = [f"allowed_hosts: {', '.join(use.allowed_hosts)}"] if use.allowed_hosts else []
    named += [f"allowed_models: {', '.join(use.allowed_models)}"] if use.allowed_models else []
    return (
        f"data-use rule: {use.source} is {use.access} and must not be sent to {endpoint.model} at {where}. "
        f"Nothing was sent. Its card allows models on this machine and "
        f"{'; '.join(named) or 'no others (no allowed_hosts, no allowed_models)'}"
    )


def _host_named(item: str) -> str:
    """The host that a card names, also where it gives a whole address."""
    return (urlsplit(item).netloc.rpartition("@")[2] if "://" in item else item).lower()


def _listed(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else str(value or "").split(",")
    return tuple(text for item in items if (text := str(item).strip()))
