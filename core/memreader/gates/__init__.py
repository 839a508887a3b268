"""Second looks at memories by a model: reworded, kept, or dropped with a reason; in doubt kept as they are."""

from memreader.gates.hallucination import check as check
from memreader.gates.rewrite import rewrite as rewrite
from memreader.gates.verdicts import Verdict as Verdict
