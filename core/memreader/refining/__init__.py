"""Raw items of a store into memories by a model: window by window, atomically, now or in the background."""

from memreader.refining.background import BackgroundRefining as BackgroundRefining
from memreader.refining.refine import Refining as Refining
from memreader.refining.report import RefineReport as RefineReport
from memreader.refining.report import with_refined as with_refined
