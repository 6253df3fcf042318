"""LangChain's class for Anthropic's Messages, tried by langchain's own tests of chat models."""

from langchain_anthropic import ChatAnthropic
from langchain_tests.integration_tests import ChatModelIntegrationTests

from case import EXACT, KEY, ROOT


class TestMessages(ChatModelIntegrationTests):
    @property
    def chat_model_class(self):
        return ChatAnthropic

    @property
    def chat_model_params(self):
        return {
            "model": "claude-sonnet-4-6", "base_url": ROOT, "api_key": KEY, "max_retries": 0, "default_headers": EXACT,
        }
