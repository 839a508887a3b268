"""Language models: OpenAI-compatible endpoints, and which failures of a call pass by themselves."""

from memreader.models.endpoint import EndpointError
from memreader.models.openai import OpenAIChatModel

__all__ = ["EndpointError", "OpenAIChatModel"]
