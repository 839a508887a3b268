"""What tests of memreader, and of your own models, are made of: working fakes, and a contract class per port."""

from memreader.testing.contracts import ChatModelContract, EmbedderContract, TokenizerContract
from memreader.testing.fakes import HashEmbedder, ScriptedChatModel

__all__ = ["ChatModelContract", "EmbedderContract", "HashEmbedder", "ScriptedChatModel", "TokenizerContract"]
