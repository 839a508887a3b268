"""How much a document may ask for before it is refused or stopped."""

from __future__ import annotations

from dataclasses import dataclass, fields

MB = 1_000_000


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Bounds on one document; each must be above 0 (ValueError). An MB is 1,000,000 bytes.

    >>> ParseLimits(timeout_s=5).max_input_mb
    50
    """

    max_input_mb: float = 50
    """Size of the file itself."""
    max_unpacked_mb: float = 200
    """Sum of what the entries of a docx, pptx, xlsx or epub say they unpack to."""
    max_text_mb: float = 20
    """Size of the text that comes out, in UTF-8."""
    timeout_s: float = 60.0
    """Time in the parsing process; waiting for another document, and the start of the process, don't count."""
    max_memory_mb: float = 1500
    """Resident memory of the whole parsing process, its libraries (about 200 MB) included. Watched on Linux and,
    through `ps`, on other POSIX systems; Windows isn't watched."""
    max_archive_entries: int = 10_000
    """Files inside a docx, pptx, xlsx or epub."""
    max_archive_ratio: float = 200
    """Unpacked size over packed size, for archives that unpack to more than 10 MB."""

    def __post_init__(self) -> None:
        for knob in fields(self):
            if not getattr(self, knob.name) > 0:
                raise ValueError(f"{knob.name} must be above 0, got {getattr(self, knob.name)}")


DEFAULT_LIMITS = ParseLimits()
