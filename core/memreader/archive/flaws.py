"""What is wrong with a piece of a file, before the file's name is known."""

from __future__ import annotations

from pydantic import ValidationError

from memreader.errors import ArchiveError


class Flaw(ValueError):  # noqa: N818 - never leaves this room: ArchiveError is what is raised
    """Something that can't be taken, at a place within one item or row (".metadata.tags[0]"; "" is all of it)."""

    def __init__(self, problem: str, *, where: str = "", remedy: str = "") -> None:
        self.problem = problem
        self.where = where
        self.remedy = remedy
        super().__init__(problem)

    def inside(self, prefix: str) -> Flaw:
        """Return the same flaw as seen from further out."""
        return Flaw(self.problem, where=prefix + self.where, remedy=self.remedy)

    def in_file(self, path: str, where: str, remedy: str) -> ArchiveError:
        """Return the error to raise; a remedy of the flaw's own stands in place of `remedy`.

        >>> str(Flaw("is null", where=".id").in_file("a.zip", "items.jsonl, line 3", "Export again."))
        'a.zip at items.jsonl, line 3, id: is null. Export again.'
        """
        place = f"{where}, {self.where.removeprefix('.')}" if where and self.where else where + self.where
        return ArchiveError(path=path, problem=self.problem, where=place, remedy=self.remedy or remedy)


def flaw_of(error: ValidationError, prefix: str = "") -> Flaw:
    """Return the first of the problems that pydantic found, without the value."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{shown(part)}" for part in problems[0]["loc"])
    problem = problems[0]["msg"].removeprefix("Value error, ")
    more = f" (and {len(problems) - 1} more problems with it)" if len(problems) > 1 else ""
    return Flaw(problem + more, where=prefix + where)


def shown(name: str) -> str:
    r"""Return a name from a file so that an error can hold it: short, and always printable as UTF-8.

    >>> shown("a" * 99)[-3:], shown(chr(0xD800))
    ('aaa', '\\ud800')
    """
    return name[:80].encode("utf-8", "backslashreplace").decode()
