"""Memories as files: the dump (a JSON list), and the archive (a zip that restores everything)."""

from memreader.archive.columns import ENTRIES as ENTRIES
from memreader.archive.columns import Column as Column
from memreader.archive.columns import Row as Row
from memreader.archive.dump import FILENAME as FILENAME
from memreader.archive.dump import bare_name as bare_name
from memreader.archive.dump import read_dump as read_dump
from memreader.archive.dump import write_dump as write_dump
from memreader.archive.manifest import ArchiveFacts as ArchiveFacts
from memreader.archive.manifest import EntryFacts as EntryFacts
from memreader.archive.manifest import Manifest as Manifest
from memreader.archive.reader import ArchiveReader as ArchiveReader
from memreader.archive.reader import open_archive as open_archive
from memreader.archive.writer import ArchiveRows as ArchiveRows
from memreader.archive.writer import write_archive as write_archive
