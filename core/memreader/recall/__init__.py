"""Finding the evidence again: terms, fusion, the relevance floor, and the context for a prompt."""

from memreader.recall.context import render_context
from memreader.recall.lexical import LEXICON, OLDER_LEXICONS, query_weights, term_counts
from memreader.recall.options import RecallOptions, Weights
from memreader.recall.question import Question, read_question
from memreader.recall.records import item_record
from memreader.recall.search import check_search, query_form, rank

__all__ = [
    "LEXICON",
    "OLDER_LEXICONS",
    "Question",
    "RecallOptions",
    "Weights",
    "check_search",
    "item_record",
    "query_form",
    "query_weights",
    "rank",
    "read_question",
    "render_context",
    "term_counts",
]
