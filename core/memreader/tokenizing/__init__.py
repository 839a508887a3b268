"""Counting and cutting tokens, offline: text -> token counts and byte ends."""

from memreader.tokenizing.bpe import BpeTokenizer, load_tokenizer

__all__ = ["BpeTokenizer", "load_tokenizer"]
