"""A scripted LLM provider on a real socket: OpenAI's chat, Responses, embeddings and completions, Anthropic's Messages,
Google's Gemini.

What it answers follows from the request alone, so that two runs of one client get the same bytes. A directive in
the last thing that the user says, such as `[[cut 3]]`, chooses a script (script.py); else it answers as a
willing model would: with the tool that it must call, with JSON of the asked shape, or with text.
"""

from .server import KEY, Provider

__all__ = ["KEY", "Provider"]
