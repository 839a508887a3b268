"""What refining did."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from memreader.ingest import AddReport
from memreader.ports import Usage
from memreader.records import Decided
from memreader.types import Dropped, Failure


@dataclass(frozen=True, slots=True)
class RefineReport:
    """What refining did; every list in the order of the conversations."""

    added: list[str] = field(default_factory=list)
    """Ids of the memories that were made."""
    existing: list[str] = field(default_factory=list)
    """Ids of memories that were there already, and rest on more now."""
    refined: list[str] = field(default_factory=list)
    """Ids of the raw items that were read to the end."""
    pending: list[str] = field(default_factory=list)
    """Those of `added` and `existing` that wait for approval; see `Memory.review`."""
    left: list[str] = field(default_factory=list)
    """Ids of the raw items that stay raw: the model failed, or they changed meanwhile; see `failures`."""
    rewritten: list[str] = field(default_factory=list)
    """Ids of memories that a gate gave other words."""
    completed: list[str] = field(default_factory=list)
    """Ids of partial memories that were given something they lacked."""
    partial: list[str] = field(default_factory=list)
    """Ids of memories, made or asked about now, that lack their key, entities or time; `info["missing"]` says what."""
    decisions: list[Decided] = field(default_factory=list)
    """What became of memories beside those that were there, where not both simply stay."""
    archived: list[str] = field(default_factory=list)
    """Ids of memories that a gate refused: they are kept, and no longer found; `dropped` says why."""
    dropped: list[Dropped] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    """Calls and tokens that the model took."""
    made_room: list[str] = field(default_factory=list)
    """Ids of memories that were archived since the user's memory was full; see `Memory.open`."""

    def joined(self, other: RefineReport) -> RefineReport:
        """Return what this and another refining did together; both calls of the same caller, whose usage is a sum."""
        return RefineReport(
            [*self.added, *other.added],
            [*self.existing, *other.existing],
            [*self.refined, *other.refined],
            [*self.pending, *other.pending],
            [*self.left, *other.left],
            [*self.rewritten, *other.rewritten],
            [*self.completed, *other.completed],
            [*self.partial, *other.partial],
            [*self.decisions, *other.decisions],
            [*self.archived, *other.archived],
            [*self.dropped, *other.dropped],
            [*self.failures, *other.failures],
            other.usage,
            [*self.made_room, *other.made_room],
        )


def with_refined(report: AddReport, refined: RefineReport) -> AddReport:
    """Return what adding did, with what refining did after it."""
    return replace(
        report,
        added=[*report.added, *refined.added],
        existing=[*report.existing, *refined.existing],
        decisions=[*report.decisions, *refined.decisions],
        partial=refined.partial,
        refined=refined.refined,
        left=refined.left,
        dropped=[*report.dropped, *refined.dropped],
        failures=[*report.failures, *refined.failures],
        usage=report.usage + refined.usage,
        archived=[*report.archived, *refined.made_room],
    )
