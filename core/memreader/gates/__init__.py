"""Second looks at memories by a model: reworded, kept, or dropped with a reason; in doubt kept as they are."""

from memreader.gates.completion import Completion as Completion
from memreader.gates.completion import Lacking as Lacking
from memreader.gates.completion import complete as complete
from memreader.gates.hallucination import check as check
from memreader.gates.rewrite import rewrite as rewrite
from memreader.gates.verdicts import Verdict as Verdict
