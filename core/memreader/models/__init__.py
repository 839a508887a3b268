"""Language models: OpenAI-compatible endpoints, and which failures of a call pass by themselves."""
