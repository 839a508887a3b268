"""What tests of memreader, and of your own models and stores, are made of: working fakes, and a contract per port."""

from memreader.testing.contracts import ChatModelContract, EmbedderContract, TokenizerContract
from memreader.testing.fakes import FunctionChatModel, HashEmbedder, HashTokenEmbedder, ScriptedChatModel
from memreader.testing.graph_contract import GraphStoreContract
from memreader.testing.index_contracts import PostingIndexContract, VectorIndexContract
from memreader.testing.item_contract import ItemStoreContract
from memreader.testing.refining_contract import RefiningContract
from memreader.testing.reranker_contract import RerankerContract
from memreader.testing.token_contract import TokenEmbedderContract

__all__ = [
    "ChatModelContract",
    "EmbedderContract",
    "FunctionChatModel",
    "GraphStoreContract",
    "HashEmbedder",
    "HashTokenEmbedder",
    "ItemStoreContract",
    "PostingIndexContract",
    "RefiningContract",
    "RerankerContract",
    "ScriptedChatModel",
    "TokenEmbedderContract",
    "TokenizerContract",
    "VectorIndexContract",
]
