"""Any raw input to conversations, documents, files and items."""

from memreader.normalize.conversation import file_inputs
from memreader.normalize.entry import normalize
from memreader.normalize.language import detect_language
from memreader.normalize.time import parse_time

__all__ = ["detect_language", "file_inputs", "normalize", "parse_time"]
