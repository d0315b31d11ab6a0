"""Backends that ask a model over HTTP, as the chat API of OpenAI has it."""
