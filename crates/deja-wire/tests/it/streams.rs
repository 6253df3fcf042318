//! Streams as providers send them, five a format, written for this project from the providers' documentation.

use deja_wire::{Finish, Wire};

/// A stream and what deja makes of it.
pub(crate) struct Recorded {
    pub(crate) name: &'static str,
    pub(crate) wire: Wire,
    pub(crate) body: &'static str,
    pub(crate) text: &'static str,
    pub(crate) finish: Finish,
    pub(crate) renderable: bool,
}

const fn text(name: &'static str, wire: Wire, body: &'static str, text: &'static str) -> Recorded {
    Recorded { name, wire, body, text, finish: Finish::Stop, renderable: true }
}

/// Events as they are sent.
macro_rules! data {
    ($($event:literal)*) => { concat!($("data: ", $event, "\n\n"),*) };
}

/// The same, each with its name.
macro_rules! named {
    ($($name:literal $event:literal)*) => { concat!($("event: ", $name, "\ndata: ", $event, "\n\n"),*) };
}

pub(crate) const ALL: &[Recorded] = &[
    text(
        "openai with tokens",
        Wire::Chat,
        data! {
            r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"gpt-5.6-luna-2026-09-01","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"q8"}"#
            r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"gpt-5.6-luna-2026-09-01","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" Tabs\tand\n\n"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"tz3"}"#
            r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"gpt-5.6-luna-2026-09-01","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":"👩‍🔧 é ☃ \ud83d\ude80 "},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"u"}"#
            r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"gpt-5.6-luna-2026-09-01","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null,"obfuscation":""}"#
            r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"gpt-5.6-luna-2026-09-01","service_tier":"default","system_fingerprint":"fp_1","choices":[],"usage":{"prompt_tokens":13,"completion_tokens":9,"total_tokens":22,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}"#
            "[DONE]"
        },
        " Tabs\tand\n\n👩‍🔧 é ☃ 🚀 ",
    ),
    text(
        "a model server: comments, CRLF, no blank after the colon",
        Wire::Chat,
        ": ready\r\n\r\ndata:{\"id\":\"c-2\",\"created\":1790000001,\"model\":\"qwen\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\r\n\r\ndata:{\"id\":\"c-2\",\"created\":1790000001,\"model\":\"qwen\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Four.\"},\"finish_reason\":\"stop\"}],\"timings\":{\"predicted_n\":2}}\r\n\r\ndata:[DONE]\r\n\r\n",
        "Four.",
    ),
    text(
        "azure: the first chunk is empty",
        Wire::Chat,
        r#"data: {"id":"","object":"","created":0,"model":"","choices":[],"prompt_filter_results":[{"prompt_index":0}]}

data: {"id":"chatcmpl-3","object":"chat.completion.chunk","created":1790000002,"model":"gpt-5.6-luna","choices":[{"index":0,"delta":{"role":"assistant","content":""},"content_filter_results":{},"finish_reason":null}],"system_fingerprint":null}

data: {"id":"chatcmpl-3","object":"chat.completion.chunk","created":1790000002,"model":"gpt-5.6-luna","choices":[{"index":0,"delta":{"content":"No \"quotes\" \\ lost"},"content_filter_results":{"hate":{"filtered":false}},"finish_reason":null}],"system_fingerprint":null}

data: {"id":"chatcmpl-3","object":"chat.completion.chunk","created":1790000002,"model":"gpt-5.6-luna","choices":[{"index":0,"delta":{},"content_filter_results":{},"finish_reason":"stop"}],"system_fingerprint":null}

data: [DONE]
"#,
        "No \"quotes\" \\ lost",
    ),
    Recorded {
        name: "two calls of tools, their arguments in pieces",
        wire: Wire::Chat,
        body: data! {
            r#"{"id":"chatcmpl-4","object":"chat.completion.chunk","created":1790000003,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]},"finish_reason":null}]}"#
            r#"{"id":"chatcmpl-4","object":"chat.completion.chunk","created":1790000003,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]},"finish_reason":null}]}"#
            r#"{"id":"chatcmpl-4","object":"chat.completion.chunk","created":1790000003,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]},"finish_reason":null}]}"#
            r#"{"id":"chatcmpl-4","object":"chat.completion.chunk","created":1790000003,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"now","arguments":"{}"}}]},"finish_reason":null}]}"#
            r#"{"id":"chatcmpl-4","object":"chat.completion.chunk","created":1790000003,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#
            "[DONE]"
        },
        text: "",
        finish: Finish::ToolCalls,
        renderable: true,
    },
    Recorded {
        name: "reasoning beside the answer",
        wire: Wire::Chat,
        body: data! {
            r#"{"id":"5","object":"chat.completion.chunk","created":1790000004,"model":"r1","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"Two and "}}]}"#
            r#"{"id":"5","object":"chat.completion.chunk","created":1790000004,"model":"r1","choices":[{"index":0,"delta":{"reasoning_content":"two."}}]}"#
            r#"{"id":"5","object":"chat.completion.chunk","created":1790000004,"model":"r1","choices":[{"index":0,"delta":{"content":"Four."}}]}"#
            r#"{"id":"5","object":"chat.completion.chunk","created":1790000004,"model":"r1","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":9}}"#
            "[DONE]"
        },
        text: "Four.",
        finish: Finish::Stop,
        renderable: true,
    },
    text(
        "gemini on chat completions: a signature",
        Wire::Chat,
        data! {
            r#"{"id":"6","object":"chat.completion.chunk","created":1790000005,"model":"gemini-3-pro","choices":[{"index":0,"delta":{"role":"assistant","content":"Four."}}]}"#
            r#"{"id":"6","object":"chat.completion.chunk","created":1790000005,"model":"gemini-3-pro","choices":[{"index":0,"delta":{"role":"assistant","content":"","extra_content":{"google":{"thought_signature":"EqQB"}}},"finish_reason":"stop"}]}"#
            "[DONE]"
        },
        "Four.",
    ),
    text(
        "anthropic: text",
        Wire::Messages,
        named! {
            "message_start" r#"{"type":"message_start","message":{"model":"claude-haiku-4-5","id":"msg_01A","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":15,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}"#
            "ping" r#"{"type": "ping"}"#
            "content_block_start" r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" Tabs\tand\n\n"}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"👩‍🔧 é ☃ "}}"#
            "content_block_stop" r#"{"type":"content_block_stop","index":0}"#
            "message_delta" r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":15,"output_tokens":12}}"#
            "message_stop" r#"{"type":"message_stop"}"#
        },
        " Tabs\tand\n\n👩‍🔧 é ☃ ",
    ),
    text(
        "anthropic: two blocks, a stop sequence, tokens of a prompt cache",
        Wire::Messages,
        named! {
            "message_start" r#"{"type":"message_start","message":{"model":"claude-haiku-4-5","id":"msg_01A","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":90,"cache_creation":{"ephemeral_5m_input_tokens":10},"output_tokens":2}}}"#
            "ping" r#"{"type": "ping"}"#
            "content_block_start" r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"One. "}}"#
            "content_block_stop" r#"{"type":"content_block_stop","index":0}"#
            "content_block_start" r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Two"}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"."}}"#
            "content_block_stop" r#"{"type":"content_block_stop","index":1}"#
            "message_delta" r#"{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END"},"usage":{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":90,"output_tokens":30}}"#
            "message_stop" r#"{"type":"message_stop"}"#
        },
        "One. Two.",
    ),
    text(
        "anthropic: a thought that nobody can read",
        Wire::Messages,
        named! {
            "message_start" r#"{"type":"message_start","message":{"model":"claude-sonnet-5","id":"msg_01A","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":15,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}"#
            "content_block_start" r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCk=="}}"#
            "content_block_stop" r#"{"type":"content_block_stop","index":0}"#
            "content_block_start" r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"42"}}"#
            "content_block_stop" r#"{"type":"content_block_stop","index":1}"#
            "message_delta" r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":30}}"#
            "message_stop" r#"{"type":"message_stop"}"#
        },
        "42",
    ),
    Recorded {
        name: "anthropic: a thought with its signature",
        wire: Wire::Messages,
        body: named! {
            "message_start" r#"{"type":"message_start","message":{"model":"claude-haiku-4-5","id":"msg_01A","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":15,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}"#
            "ping" r#"{"type": "ping"}"#
            "content_block_start" r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"6 times "}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"7"}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCk=="}}"#
            "content_block_stop" r#"{"type":"content_block_stop","index":0}"#
            "content_block_start" r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"42"}}"#
            "content_block_stop" r#"{"type":"content_block_stop","index":1}"#
            "message_delta" r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":30}}"#
            "message_stop" r#"{"type":"message_stop"}"#
        },
        text: "42",
        finish: Finish::Stop,
        renderable: false,
    },
    Recorded {
        name: "anthropic: a call of a tool",
        wire: Wire::Messages,
        body: named! {
            "message_start" r#"{"type":"message_start","message":{"model":"claude-haiku-4-5","id":"msg_01A","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":15,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}"#
            "ping" r#"{"type": "ping"}"#
            "content_block_start" r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Let me see."}}"#
            "content_block_stop" r#"{"type":"content_block_stop","index":0}"#
            "content_block_start" r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\": \"Os"}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"lo\"}"}}"#
            "content_block_stop" r#"{"type":"content_block_stop","index":1}"#
            "message_delta" r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":30}}"#
            "message_stop" r#"{"type":"message_stop"}"#
        },
        text: "Let me see.",
        finish: Finish::ToolCalls,
        renderable: true,
    },
    Recorded {
        name: "anthropic: cut at the token limit",
        wire: Wire::Messages,
        body: named! {
            "message_start" r#"{"type":"message_start","message":{"model":"claude-haiku-4-5","id":"msg_01A","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":15,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}"#
            "content_block_start" r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#
            "content_block_delta" r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"And then the"}}"#
            "content_block_stop" r#"{"type":"content_block_stop","index":0}"#
            "message_delta" r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":4}}"#
            "message_stop" r#"{"type":"message_stop"}"#
        },
        text: "And then the",
        finish: Finish::Length,
        renderable: true,
    },
    text(
        "responses: reasoning, then text",
        Wire::Responses,
        named! {
            "response.created" r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"in_progress","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[],"parallel_tool_calls":true,"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":null,"metadata":{}}}"#
            "response.in_progress" r#"{"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"in_progress","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[],"parallel_tool_calls":true,"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":null,"metadata":{}}}"#
            "response.output_item.added" r#"{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"it_0"}}"#
            "response.output_item.done" r#"{"type":"response.output_item.done","sequence_number":3,"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}"#
            "response.output_item.added" r#"{"type":"response.output_item.added","sequence_number":4,"output_index":1,"item":{"id":"it_1"}}"#
            "response.output_text.delta" r#"{"type":"response.output_text.delta","sequence_number":5,"item_id":"it_1","output_index":1,"content_index":0,"delta":" Tabs\tand\n\n","logprobs":[],"obfuscation":"x"}"#
            "response.output_text.delta" r#"{"type":"response.output_text.delta","sequence_number":6,"item_id":"it_1","output_index":1,"content_index":0,"delta":"👩‍🔧 é ☃ ","logprobs":[],"obfuscation":"x"}"#
            "response.output_item.done" r#"{"type":"response.output_item.done","sequence_number":7,"output_index":1,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":" Tabs\tand\n\n👩‍🔧 é ☃ "}]}}"#
            "response.completed" r#"{"type":"response.completed","sequence_number":8,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"completed","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[{"id":"rs_1","type":"reasoning","summary":[]},{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":" Tabs\tand\n\n👩‍🔧 é ☃ "}]}],"parallel_tool_calls":true,"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":{"input_tokens":21,"output_tokens":76,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":97},"metadata":{}}}"#
        },
        " Tabs\tand\n\n👩‍🔧 é ☃ ",
    ),
    text(
        "responses: kept by the provider",
        Wire::Responses,
        named! {
            "response.created" r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"in_progress","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[],"parallel_tool_calls":true,"store":true,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":null,"metadata":{}}}"#
            "response.in_progress" r#"{"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"in_progress","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[],"parallel_tool_calls":true,"store":true,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":null,"metadata":{}}}"#
            "response.output_item.added" r#"{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"it_0"}}"#
            "response.output_text.delta" r#"{"type":"response.output_text.delta","sequence_number":3,"item_id":"it_0","output_index":0,"content_index":0,"delta":"Seven.","logprobs":[],"obfuscation":"x"}"#
            "response.output_item.done" r#"{"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Seven."}]}}"#
            "response.completed" r#"{"type":"response.completed","sequence_number":5,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"completed","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Seven."}]}],"parallel_tool_calls":true,"store":true,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":{"input_tokens":21,"output_tokens":76,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":97},"metadata":{}}}"#
        },
        "Seven.",
    ),
    Recorded {
        name: "responses: a call of a function",
        wire: Wire::Responses,
        body: named! {
            "response.created" r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"in_progress","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[],"parallel_tool_calls":true,"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":null,"metadata":{}}}"#
            "response.in_progress" r#"{"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"in_progress","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[],"parallel_tool_calls":true,"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":null,"metadata":{}}}"#
            "response.output_item.added" r#"{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"it_0"}}"#
            "response.output_item.done" r#"{"type":"response.output_item.done","sequence_number":3,"output_index":0,"item":{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"city\":\"Oslo\"}","call_id":"call_1","name":"weather"}}"#
            "response.completed" r#"{"type":"response.completed","sequence_number":4,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"completed","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"city\":\"Oslo\"}","call_id":"call_1","name":"weather"}],"parallel_tool_calls":true,"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":{"input_tokens":21,"output_tokens":76,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":97},"metadata":{}}}"#
        },
        text: "",
        finish: Finish::ToolCalls,
        renderable: true,
    },
    Recorded {
        name: "responses: cut at the token limit",
        wire: Wire::Responses,
        body: named! {
            "response.created" r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"in_progress","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[],"parallel_tool_calls":true,"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":null,"metadata":{}}}"#
            "response.in_progress" r#"{"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"in_progress","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[],"parallel_tool_calls":true,"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":null,"metadata":{}}}"#
            "response.output_item.added" r#"{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"it_0"}}"#
            "response.output_text.delta" r#"{"type":"response.output_text.delta","sequence_number":3,"item_id":"it_0","output_index":0,"content_index":0,"delta":"And then","logprobs":[],"obfuscation":"x"}"#
            "response.output_item.done" r#"{"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"And then"}]}}"#
            "response.incomplete" r#"{"type":"response.incomplete","sequence_number":5,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"incomplete","background":false,"error":null,"incomplete_details":{"reason":"max_output_tokens"},"instructions":null,"model":"gpt-5.6-luna","output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"And then"}]}],"parallel_tool_calls":true,"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":{"input_tokens":21,"output_tokens":76,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":97},"metadata":{}}}"#
        },
        text: "And then",
        finish: Finish::Length,
        renderable: true,
    },
    Recorded {
        name: "responses: a citation",
        wire: Wire::Responses,
        body: named! {
            "response.created" r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"in_progress","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[],"parallel_tool_calls":true,"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":null,"metadata":{}}}"#
            "response.in_progress" r#"{"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"in_progress","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[],"parallel_tool_calls":true,"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":null,"metadata":{}}}"#
            "response.output_item.added" r#"{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"it_0"}}"#
            "response.output_text.delta" r#"{"type":"response.output_text.delta","sequence_number":3,"item_id":"it_0","output_index":0,"content_index":0,"delta":"Rain","logprobs":[],"obfuscation":"x"}"#
            "response.output_item.done" r#"{"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[{"type":"url_citation","url":"https://example.org","start_index":0,"end_index":4,"title":"x"}],"logprobs":[],"text":"Rain"}]}}"#
            "response.completed" r#"{"type":"response.completed","sequence_number":5,"response":{"id":"resp_1","object":"response","created_at":1790000100,"status":"completed","background":false,"error":null,"incomplete_details":null,"instructions":null,"model":"gpt-5.6-luna","output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[{"type":"url_citation","url":"https://example.org","start_index":0,"end_index":4,"title":"x"}],"logprobs":[],"text":"Rain"}]}],"parallel_tool_calls":true,"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"usage":{"input_tokens":21,"output_tokens":76,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":97},"metadata":{}}}"#
        },
        text: "Rain",
        finish: Finish::Stop,
        renderable: false,
    },
    text(
        "gemini: three pieces",
        Wire::Gemini,
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\": \"\\n Ice\\t\"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":1,\"totalTokenCount\":8},\"modelVersion\":\"gemini-2.5-flash\",\"responseId\":\"r1\"}\r\n\r\ndata: {\"candidates\":[{\"content\":{\"parts\":[{\"text\": \"floats 👩‍🔧 é\"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":3,\"totalTokenCount\":10},\"modelVersion\":\"gemini-2.5-flash\",\"responseId\":\"r1\"}\r\n\r\ndata: {\"candidates\":[{\"content\":{\"parts\":[{\"text\": \" ☃ \"}],\"role\":\"model\"},\"index\":0,\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":5,\"totalTokenCount\":12},\"modelVersion\":\"gemini-2.5-flash\",\"responseId\":\"r1\"}\r\n\r\n",
        "\n Ice\tfloats 👩‍🔧 é ☃ ",
    ),
    text(
        "gemini: the last piece has no text",
        Wire::Gemini,
        data! {
            r#"{"candidates":[{"content":{"parts":[{"text": "Ja."}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3,"totalTokenCount":10},"modelVersion":"gemini-2.5-flash","responseId":"r1"}"#
            r#"{"candidates":[{"content":{"parts":[],"role":"model"},"index":0,"finishReason":"STOP","avgLogprobs":-0.010}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":5,"totalTokenCount":12},"modelVersion":"gemini-2.5-flash","responseId":"r1"}"#
        },
        "Ja.",
    ),
    Recorded {
        name: "gemini: a signed thought",
        wire: Wire::Gemini,
        body: "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\": \"Hm.\",\"thought\": true}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":3,\"totalTokenCount\":10},\"modelVersion\":\"gemini-2.5-flash\",\"responseId\":\"r1\"}\r\n\r\ndata: {\"candidates\":[{\"content\":{\"parts\":[{\"text\": \"Yes.\"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":3,\"totalTokenCount\":10},\"modelVersion\":\"gemini-2.5-flash\",\"responseId\":\"r1\"}\r\n\r\ndata: {\"candidates\":[{\"content\":{\"parts\":[{\"text\": \"\",\"thoughtSignature\": \"Cq==\"}],\"role\":\"model\"},\"index\":0,\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":5,\"totalTokenCount\":12},\"modelVersion\":\"gemini-2.5-flash\",\"responseId\":\"r1\"}\r\n\r\n",
        text: "Yes.",
        finish: Finish::Stop,
        renderable: false,
    },
    Recorded {
        name: "gemini: a call of a function",
        wire: Wire::Gemini,
        body: "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\": {\"name\": \"weather\",\"args\": {\"city\": \"Oslo\"}}}],\"role\":\"model\"},\"index\":0,\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":5,\"totalTokenCount\":12},\"modelVersion\":\"gemini-2.5-flash\",\"responseId\":\"r1\"}\r\n\r\n",
        text: "",
        finish: Finish::ToolCalls,
        renderable: true,
    },
    Recorded {
        name: "gemini: stopped by a filter",
        wire: Wire::Gemini,
        body: "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\": \"The way\"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":3,\"totalTokenCount\":10},\"modelVersion\":\"gemini-2.5-flash\",\"responseId\":\"r1\"}\r\n\r\ndata: {\"candidates\":[{\"content\":{\"parts\":[],\"role\":\"model\"},\"index\":0,\"finishReason\":\"SAFETY\",\"safetyRatings\":[{\"category\":\"HARM_CATEGORY_DANGEROUS_CONTENT\",\"probability\":\"HIGH\"}]}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":5,\"totalTokenCount\":12},\"modelVersion\":\"gemini-2.5-flash\",\"responseId\":\"r1\"}\r\n\r\n",
        text: "The way",
        finish: Finish::ContentFilter,
        renderable: true,
    },
];

/// A name is looked for among those before it: of an object with a great many, that took seconds.
#[test]
fn an_object_of_a_great_many_names_is_read_in_time_and_not_kept() {
    let names = |text: &str| (0..80_000).map(|n| format!("\"m{n}\":{text}")).collect::<Vec<_>>().join(",");
    let (texts, nulls) = (names("\"\""), names("null"));
    let done = "data: [DONE]\n\n";
    let streams = [
        (
            Wire::Chat,
            format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"x\",{texts}}},\"finish_reason\":\"stop\"}}]}}\n\n{done}"
            ),
        ),
        (
            Wire::Chat,
            format!(
                "data: {{{texts},\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"x\"}},\"finish_reason\":\"stop\"}}]}}\n\n{done}"
            ),
        ),
        (
            Wire::Gemini,
            format!(
                "data: {{{texts},\"candidates\":[{{{nulls},\"content\":{{\"parts\":[{{\"text\":\"x\"}}]}},\"finishReason\":\"STOP\"}}]}}\n\n"
            ),
        ),
        (
            Wire::Messages,
            format!(
                "data: {{\"type\":\"message_start\",\"message\":{{\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],{texts}}}}}\n\n\
             data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\",\"text\":\"x\"}}}}\n\n\
             data: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n\
             data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\"}},\"usage\":{{{texts}}}}}\n\n\
             data: {{\"type\":\"message_stop\"}}\n\n"
            ),
        ),
    ];
    for (wire, stream) in streams {
        let began = std::time::Instant::now();
        let read = deja_wire::record(wire, true, &stream.into()).unwrap();
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{wire:?}: {:?}", began.elapsed());
        assert!(!read.renderable && read.completion.text == "x", "{wire:?}");
    }
}
