"""Files and bytes become documents: text and markdown here, everything else in a guarded parsing process.

`parse_file` is the way in, `ParseLimits` the bounds, `SUFFIXES` the table of what can be read, and `close_parser` ends
the parsing process ahead of time.
"""

from __future__ import annotations

from memreader.parsing.files import document_path, load_file, parse_file
from memreader.parsing.limits import DEFAULT_LIMITS, ParseLimits
from memreader.parsing.suffixes import SUFFIXES, Format, suffix_of
from memreader.parsing.warm import close_parser, parser_pid

__all__ = [
    "DEFAULT_LIMITS",
    "SUFFIXES",
    "Format",
    "ParseLimits",
    "close_parser",
    "document_path",
    "load_file",
    "parse_file",
    "parser_pid",
    "suffix_of",
]
