"""Finding an encoding's ranks on this machine: package data, caches, and only when allowed the network.

What is found is checked against the sha256 that the encoding is published with, so it doesn't matter who put it there.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memreader.errors import InputError, TokenizerNotFoundError

_BLOBS = "https://openaipublic.blob.core.windows.net/encodings/"
_GPT2_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
_CL100K_PATTERN = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"""
    r"""|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)
_O200K_PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


@dataclass(frozen=True, slots=True)
class EncodingSpec:
    """What defines an encoding: the pattern that cuts text into words, and which ranks merge their bytes."""

    pattern: str
    url: str
    sha256: str
    shipped: str | None = None
    """File name below `data/`, for ranks that come with the package."""
    lines_add_up: bool = True
    """True when lines that begin with a letter have as many tokens joined as they have one by one."""

    @property
    def cache_name(self) -> str:
        """The file name that tiktoken caches these ranks under."""
        return hashlib.sha1(self.url.encode(), usedforsecurity=False).hexdigest()


_O200K = EncodingSpec(
    _O200K_PATTERN,
    _BLOBS + "o200k_base.tiktoken",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    shipped="o200k_base.tiktoken",
)
_P50K = EncodingSpec(
    _GPT2_PATTERN,
    _BLOBS + "p50k_base.tiktoken",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    lines_add_up=False,
)
_R50K = EncodingSpec(
    _GPT2_PATTERN,
    _BLOBS + "r50k_base.tiktoken",
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    lines_add_up=False,
)
ENCODINGS: dict[str, EncodingSpec] = {
    "o200k_base": _O200K,
    "o200k_harmony": _O200K,
    "cl100k_base": EncodingSpec(
        _CL100K_PATTERN,
        _BLOBS + "cl100k_base.tiktoken",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "p50k_base": _P50K,
    "p50k_edit": _P50K,
    "r50k_base": _R50K,
    "gpt2": _R50K,
}
"""Encodings that differ only in special tokens share one entry: special tokens are plain text here."""


def find_ranks(
    encoding: str, spec: EncodingSpec, *, path: str | os.PathLike[str] | None = None, allow_download: bool = False
) -> bytes:
    """Return the content of the ranks file of `encoding`, verified.

    Looked for in this order: `path` and nowhere else when it is given; the package's own data; TIKTOKEN_CACHE_DIR, or
    where tiktoken caches without it; the cache that llama-index-core ships (which is not imported); and with
    `allow_download` the address they are published at, kept in tiktoken's cache.

    Raises:
        InputError: The file at `path` holds something else.
        FileNotFoundError: There is no file at `path`.
        TokenizerNotFoundError: Nowhere found; a file with another sha256 counts as not found.
    """
    if path is not None:
        data = Path(path).read_bytes()
        if hashlib.sha256(data).hexdigest() != spec.sha256:
            raise InputError(f"{os.fspath(path)!r} does not hold the published ranks of {encoding!r}: other sha256")
        return data
    looked_in = []
    for place, file in _places(spec):
        if file.is_file():
            data = file.read_bytes()
            if hashlib.sha256(data).hexdigest() == spec.sha256:
                return data
            place += " (damaged file)"
        looked_in.append(place)
    if allow_download:
        return _download(spec)
    raise TokenizerNotFoundError(encoding=encoding, looked_in=looked_in)


def _places(spec: EncodingSpec) -> Iterator[tuple[str, Path]]:
    if spec.shipped:
        yield "package data", Path(__file__).parent / "data" / spec.shipped
    cache = os.environ.get("TIKTOKEN_CACHE_DIR")
    if cache:
        yield "TIKTOKEN_CACHE_DIR", Path(cache) / spec.cache_name
    else:
        yield "tiktoken's cache", Path(tempfile.gettempdir()) / "data-gym-cache" / spec.cache_name
    # Looking up a top-level name executes nothing; "llama_index.core" would import its parent.
    found = importlib.util.find_spec("llama_index")
    for folder in (found and found.submodule_search_locations) or ():
        yield "llama-index-core", Path(folder) / "core" / "_static" / "tiktoken_cache" / spec.cache_name


def _download(spec: EncodingSpec) -> bytes:
    from tiktoken.load import read_file_cached

    return read_file_cached(spec.url, spec.sha256)
