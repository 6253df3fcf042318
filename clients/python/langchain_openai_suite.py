"""LangChain's class for OpenAI's chat completions, tried by langchain's own tests of chat models."""

from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests

from case import EXACT, KEY, ROOT


class TestChat(ChatModelIntegrationTests):
    @property
    def chat_model_class(self):
        return ChatOpenAI

    @property
    def chat_model_params(self):
        # Without stream_usage LangChain asks for tokens at OpenAI's own address only.
        return {
            "model": "gpt-4o-mini", "base_url": f"{ROOT}/v1", "api_key": KEY, "stream_usage": True, "max_retries": 0,
            "default_headers": EXACT,
        }

    @property
    def supports_json_mode(self):
        return True


class TestResponses(TestChat):
    @property
    def chat_model_params(self):
        return {**super().chat_model_params, "use_responses_api": True, "model": "gpt-4.1-mini"}
