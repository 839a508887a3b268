"""The one table of what can be read: suffix -> kind, media type, and whether it needs the parsing process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType
from typing import Literal

Kind = Literal["text", "source", "markdown", "html", "ipynb", "pdf", "docx", "pptx", "xlsx", "epub", "msg"]


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of document."""

    kind: Kind
    media_type: str
    in_worker: bool = False
    """True when markitdown reads it, in the guarded parsing process."""


_OFFICE = "application/vnd.openxmlformats-officedocument."

TEXT = Format("text", "text/plain")
SOURCE = Format("source", "text/plain")
MARKDOWN = Format("markdown", "text/markdown")
HTML = Format("html", "text/html", in_worker=True)
IPYNB = Format("ipynb", "application/x-ipynb+json", in_worker=True)
PDF = Format("pdf", "application/pdf", in_worker=True)
DOCX = Format("docx", _OFFICE + "wordprocessingml.document", in_worker=True)
PPTX = Format("pptx", _OFFICE + "presentationml.presentation", in_worker=True)
XLSX = Format("xlsx", _OFFICE + "spreadsheetml.sheet", in_worker=True)
EPUB = Format("epub", "application/epub+zip", in_worker=True)
MSG = Format("msg", "application/vnd.ms-outlook", in_worker=True)

ARCHIVE_KINDS: frozenset[Kind] = frozenset({"docx", "pptx", "xlsx", "epub"})

_SOURCE_SUFFIXES = (
    ".py .pyi .js .mjs .cjs .jsx .ts .tsx .vue .java .kt .scala .c .h .cc .cpp .hpp .cs .go .rs .rb .php .swift .r .m "
    ".lua .pl .sh .bash .zsh .ps1 .bat .sql .css .scss .less .tex .bib .toml .ini .cfg .conf .env .properties .diff "
    ".patch .proto .graphql"
)

SUFFIXES: Mapping[str, Format] = MappingProxyType(
    {
        ".txt": TEXT,
        ".text": TEXT,
        ".log": TEXT,
        ".rst": Format("text", "text/x-rst"),
        ".org": Format("text", "text/x-org"),
        ".srt": TEXT,
        ".vtt": Format("text", "text/vtt"),
        ".csv": Format("source", "text/csv"),
        ".tsv": Format("source", "text/tab-separated-values"),
        ".json": Format("source", "application/json"),
        ".jsonl": Format("source", "application/x-ndjson"),
        ".ndjson": Format("source", "application/x-ndjson"),
        ".yaml": Format("source", "application/yaml"),
        ".yml": Format("source", "application/yaml"),
        ".xml": Format("source", "application/xml"),
        **dict.fromkeys(_SOURCE_SUFFIXES.split(), SOURCE),
        ".md": MARKDOWN,
        ".markdown": MARKDOWN,
        ".mdx": MARKDOWN,
        ".html": HTML,
        ".htm": HTML,
        ".xhtml": HTML,
        ".ipynb": IPYNB,
        ".pdf": PDF,
        ".docx": DOCX,
        ".docm": DOCX,
        ".pptx": PPTX,
        ".pptm": PPTX,
        ".xlsx": XLSX,
        ".xlsm": XLSX,
        ".epub": EPUB,
        ".msg": MSG,
    }
)
"""Lower-case suffix, with its dot. A file of any other suffix is read if its bytes are of a kind listed here."""


def suffix_of(name: str) -> str:
    """Return the last suffix of a path or file name in lower case, with its dot; "" if there is none.

    >>> suffix_of("notes/Report.PDF")
    '.pdf'
    """
    return PurePath(name.replace("\\", "/")).suffix.lower()
