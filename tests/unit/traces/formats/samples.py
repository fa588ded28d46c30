"""Recordings that the writers do not write: replies with their cost, streams, evidence, exchanges.

Each is made by hand after the provider's documentation, as small as it shows its kind.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.trace import JsonObject

CHAT_REPLY: Final[JsonValue] = {
    "id": "chatcmpl-9",
    "object": "chat.completion",
    "model": "model-x",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "Looking it up.",
                "reasoning_content": "the user wants B7 gone",
                "tool_calls": [
                    {
                        "id": "call_a",
                        "type": "function",
                        "function": {"name": "get_booking", "arguments": '{"id":"B7"}'},
                    },
                    {"id": "call_b", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}},
                ],
            },
        }
    ],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 5},
    },
}
CHAT_EXCHANGE: Final[JsonValue] = {
    "request": {
        "model": "model-x",
        "messages": [{"role": "user", "content": "Cancel B7"}],
        "tools": [{"type": "function", "function": {"name": "get_booking"}}],
    },
    "response": CHAT_REPLY,
}
RESPONSE: Final[JsonObject] = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "instructions": "Be careful with bookings.",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "thus"}]},
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "name": "ask",
            "arguments": '{"q":"B7"}',
            "output": "paid in full",
            "error": None,
            "server_label": "wiki",
        },
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "failed",
            "action": {"type": "search", "query": "B7 booking"},
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [
                {
                    "type": "output_text",
                    "text": "It is paid.",
                    "annotations": [{"type": "url_citation", "url": "https://ex.test/b7"}],
                }
            ],
        },
    ],
    "usage": {
        "input_tokens": 50,
        "input_tokens_details": {"cached_tokens": 10},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 7},
        "total_tokens": 70,
    },
}
MESSAGE: Final[JsonValue] = {
    "type": "message",
    "role": "assistant",
    "model": "model-y",
    "stop_reason": "max_tokens",
    "content": [
        {"type": "thinking", "thinking": "first the booking", "signature": "c2lnbmVk"},
        {
            "type": "text",
            "text": "Let me see.",
            "citations": [{"type": "page", "cited_text": "B7"}],
        },
        {"type": "mcp_tool_use", "id": "m1", "name": "ask", "input": {"q": "B7"}},
        {
            "type": "mcp_tool_result",
            "tool_use_id": "m1",
            "is_error": True,
            "content": [{"type": "text", "text": "no such page"}],
        },
    ],
    "usage": {
        "input_tokens": 10,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 5,
        "output_tokens": 8,
    },
}
COHERE_REPLY: Final[JsonValue] = {
    "id": "c1",
    "finish_reason": "COMPLETE",
    "message": {
        "role": "assistant",
        "tool_plan": "I will look it up.",
        "content": [
            {"type": "thinking", "thinking": "B7 it is"},
            {"type": "text", "text": "B7 is paid."},
        ],
        "citations": [{"start": 0, "end": 2, "text": "B7", "sources": [{"id": "doc-1"}]}],
    },
    "usage": {
        "billed_units": {"input_tokens": 4, "output_tokens": 2},
        "tokens": {"input_tokens": 90, "output_tokens": 12},
        "cached_tokens": 32,
    },
}
GEMINI_REPLY: Final[JsonValue] = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "thinking about B7", "thought": True},
                    {"executableCode": {"language": "PYTHON", "code": "print(7)"}},
                    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "seven"}},
                    {"text": "It is seven.", "thoughtSignature": "c2lnbmVk"},
                ],
            },
            "finishReason": "MAX_TOKENS",
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 40,
        "cachedContentTokenCount": 16,
        "candidatesTokenCount": 6,
        "thoughtsTokenCount": 9,
        "totalTokenCount": 55,
    },
    "modelVersion": "model-z",
}
ADK_SESSION: Final[JsonValue] = {
    "id": "session-1",
    "app_name": "booking",
    "events": [
        {
            "author": "user",
            "timestamp": 1700000000.0,
            "content": {"role": "user", "parts": [{"text": "Cancel B7"}]},
        },
        {
            "author": "agent-a",
            "timestamp": 1700000001.0,
            "content": {
                "role": "model",
                "parts": [{"function_call": {"id": "f1", "name": "cancel", "args": {"id": "B7"}}}],
            },
        },
        {
            "author": "agent-a",
            "timestamp": 1700000003.5,
            "content": {
                "role": "user",
                "parts": [
                    {
                        "function_response": {
                            "id": "f1",
                            "name": "cancel",
                            "response": {"state": "gone"},
                        }
                    }
                ],
            },
        },
    ],
}
CONVERSE_REPLY: Final[JsonValue] = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "B7 first"}}},
                {"text": "One moment."},
                {"toolUse": {"toolUseId": "t1", "name": "get_booking", "input": {"id": "B7"}}},
            ],
        }
    },
    "stopReason": "tool_use",
    "usage": {
        "inputTokens": 10,
        "cacheReadInputTokens": 20,
        "outputTokens": 5,
        "totalTokens": 35,
    },
    "metrics": {"latencyMs": 150},
}
SESSION_LINES: Final[JsonValue] = {
    "loglines": [
        {
            "type": "user",
            "timestamp": "2026-01-02T10:00:00Z",
            "message": {"role": "user", "content": "Cancel B7"},
        },
        {
            "type": "assistant",
            "timestamp": "2026-01-02T10:00:01Z",
            "message": {
                "id": "msg_1",
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"p": "a"}}],
                "usage": {"input_tokens": 2, "output_tokens": 9},
            },
        },
        {
            "type": "user",
            "timestamp": "2026-01-02T10:00:03.250+00:00",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "the text"}],
            },
        },
        {"type": "summary", "summary": "B7 was read", "leafUuid": "u-1"},
    ]
}
SDK_SPANS: Final[JsonValue] = [
    {
        "name": "ai.generateText.doGenerate",
        "spanContext": {"traceId": "aa"},
        "startTime": [1700000000, 0],
        "endTime": [1700000001, 500000000],
        "attributes": {
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.prompt.messages": '[{"role":"user","content":"Cancel B7"}]',
            "ai.response.text": "Looking it up.",
            "ai.response.toolCalls": '[{"toolCallId":"c1","toolName":"get","input":{"id":1}}]',
            "gen_ai.usage.input_tokens": 12,
            "gen_ai.usage.output_tokens": 3,
        },
    },
    {
        "name": "ai.toolCall",
        "spanContext": {"traceId": "aa"},
        "startTime": [1700000002, 0],
        "endTime": [1700000002, 250000000],
        "attributes": {
            "ai.operationId": "ai.toolCall",
            "ai.toolCall.name": "get",
            "ai.toolCall.id": "c1",
            "ai.toolCall.args": '{"id":1}',
            "ai.toolCall.result": '{"state":"paid"}',
        },
    },
    {
        "name": "ai.embed",
        "spanContext": {"traceId": "bb"},
        "attributes": {"ai.operationId": "ai.embed", "ai.value": "bookings of today"},
    },
]
MCP_LOG: Final[JsonValue] = [
    {
        "direction": "out",
        "timestamp": "2026-01-02T10:00:00Z",
        "message": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    },
    {
        "direction": "in",
        "timestamp": "2026-01-02T10:00:01Z",
        "message": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "refund"}]}},
    },
    {
        "direction": "out",
        "timestamp": "2026-01-02T10:00:02Z",
        "message": {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "refund", "arguments": {"id": "B7"}},
        },
    },
    {
        "direction": "in",
        "timestamp": "2026-01-02T10:00:04Z",
        "message": {
            "jsonrpc": "2.0",
            "id": 2,
            "error": {"code": -32602, "message": "no such booking", "data": {"id": "B7"}},
        },
    },
]


def _line(seq: int, kind: str, source: str, **fields: JsonValue) -> JsonValue:
    """Return a line of evidence."""
    return {"seq": seq, "kind": kind, "source": source, "at_ms": 0, **fields, "chain": f"{seq:064}"}


EVIDENCE: Final[JsonValue] = [
    _line(
        1,
        "run_started",
        "runner",
        run="run-1",
        scenario="golden-1",
        workflow="support@1",
        trial=1,
        sue={"agent": "reference"},
        tools={"get_account": "1.1", "create_ticket": "1.1"},
    ),
    _line(2, "user_said", "runner", text="I cannot sign in."),
    _line(
        3,
        "model_answered",
        "runner",
        decision="calls",
        requests=[["req-1", "create_ticket", '{"account_id":"A-1"}']],
        text="One moment.",
        input_tokens=60,
        output_tokens=9,
        cached_tokens=20,
        latency_ms=12,
    ),
    _line(
        4,
        "tool_call",
        "gateway",
        call_id="call-1",
        requested_id="req-1",
        tool="create_ticket",
        arguments={"account_id": "A-1"},
        status="denied",
        reason="scope_missing",
        delivery="delivered",
        commit_belief="not_started",
        result=None,
        requested_ms=5,
        returned_ms=9,
    ),
    _line(
        5,
        "model_answered",
        "runner",
        decision="final",
        answer={"message": "I may not open a ticket."},
        input_tokens=80,
        output_tokens=11,
        cached_tokens=0,
    ),
    _line(6, "agent_finished", "agent", answer={"message": "I may not open a ticket."}),
    _line(7, "run_started", "runner", run="run-2", scenario="golden-1", trial=2),
    _line(8, "agent_finished", "agent", answer="done already"),
]

ARH_TRACE: Final[JsonValue] = {
    "trace_id": "t",
    "agent_name": "agent",
    "workflow": "work",
    "steps": [
        {
            "step_id": "s1",
            "type": "model_response",
            "text": "Looking it up.",
            "latency_ms": 12.5,
            "input_tokens": 10,
            "output_tokens": 2,
        }
    ],
}

RESPONSES_EXCHANGE: Final[JsonValue] = {
    "request": {
        "model": "model-x",
        "input": [{"role": "user", "content": "Is B7 paid?"}],
        "metadata": {"asked_by": "desk seven"},
    },
    "response": {**RESPONSE, "metadata": {"answered_by": "node nine"}},
}
MESSAGES_EXCHANGE: Final[JsonValue] = {
    "request": {
        "system": "Be careful with bookings.",
        "messages": [{"role": "user", "content": "Is B7 paid?"}],
        "tools": [{"name": "ask", "description": "asks", "input_schema": {}}],
    },
    "response": MESSAGE,
}
COHERE_EXCHANGE: Final[JsonValue] = {
    "request": {"messages": [{"role": "user", "content": "Is B7 paid?"}], "model": "command-x"},
    "response": COHERE_REPLY,
}
GEMINI_EXCHANGE: Final[JsonValue] = {
    "request": {
        "systemInstruction": {"parts": [{"text": "Be careful with bookings."}]},
        "contents": [{"role": "user", "parts": [{"text": "Is B7 paid?"}]}],
        "tools": [{"functionDeclarations": [{"name": "ask"}]}],
    },
    "response": GEMINI_REPLY,
}
CONVERSE_EXCHANGE: Final[JsonValue] = {
    "request": {
        "system": [{"text": "Be careful with bookings."}],
        "messages": [{"role": "user", "content": [{"text": "Is B7 paid?"}]}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "get_booking"}}]},
    },
    "response": CONVERSE_REPLY,
}

SAMPLES: Final[dict[str, list[JsonValue]]] = {
    "anthropic-messages": [MESSAGE, MESSAGES_EXCHANGE],
    "arh": [ARH_TRACE],
    "arh-evidence": [EVIDENCE],
    "bedrock-converse": [CONVERSE_REPLY, CONVERSE_EXCHANGE],
    "claude-code": [SESSION_LINES],
    "cohere-chat": [COHERE_REPLY, COHERE_EXCHANGE],
    "gemini": [GEMINI_REPLY, ADK_SESSION, GEMINI_EXCHANGE],
    "mcp-jsonrpc": [MCP_LOG],
    "openai-chat": [CHAT_REPLY, CHAT_EXCHANGE],
    "openai-responses": [RESPONSE, RESPONSES_EXCHANGE],
    "otel-genai": [SDK_SPANS],
}

CHAT_CHUNKS: Final[JsonValue] = [
    {"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Look"}}]},
    {"id": "c", "choices": [{"index": 0, "delta": {"content": "ing."}}]},
    {
        "id": "c",
        "choices": [
            {
                "index": 0,
                "delta": {
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "call_a",
                            "type": "function",
                            "function": {"name": "get_booking", "arguments": '{"id"'},
                        }
                    ]
                },
            }
        ],
    },
    {
        "id": "c",
        "choices": [
            {
                "index": 0,
                "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ':"B7"}'}}]},
            }
        ],
    },
    {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {"id": "c", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}},
]
MESSAGE_EVENTS: Final[JsonValue] = [
    {
        "type": "message_start",
        "message": {
            "id": "m",
            "role": "assistant",
            "content": [],
            "usage": {"input_tokens": 9, "output_tokens": 1, "service_tier": "standard"},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Looking."},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "t1", "name": "get_booking", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"id":'},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '"B7"}'},
    },
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}},
    {"type": "message_stop"},
]
RESPONSE_EVENTS: Final[JsonValue] = [
    {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
    {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {"type": "message", "id": "i0", "role": "assistant", "content": []},
    },
    {
        "type": "response.output_text.delta",
        "output_index": 0,
        "content_index": 0,
        "item_id": "i0",
        "delta": "Looking.",
    },
    {
        "type": "response.output_item.added",
        "output_index": 1,
        "item": {
            "type": "function_call",
            "id": "i1",
            "call_id": "call_a",
            "name": "get_booking",
            "arguments": "",
        },
    },
    {
        "type": "response.function_call_arguments.delta",
        "output_index": 1,
        "item_id": "i1",
        "delta": '{"id":"B7"}',
    },
]
RESPONSE_END: Final[JsonValue] = {
    "type": "response.completed",
    "response": {
        "id": "r",
        "status": "completed",
        "output": [
            {
                "type": "message",
                "id": "i0",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Looking.", "annotations": []}],
            },
            {
                "type": "function_call",
                "id": "i1",
                "call_id": "call_a",
                "name": "get_booking",
                "arguments": '{"id":"B7"}',
            },
        ],
        "usage": {"input_tokens": 9, "output_tokens": 4},
    },
}
"""The last event of the events above; without it they are a recording that was cut."""
COHERE_EVENTS: Final[JsonValue] = [
    {"id": "x", "type": "message-start", "delta": {"message": {"role": "assistant"}}},
    {
        "type": "content-start",
        "index": 0,
        "delta": {"message": {"content": {"type": "text", "text": ""}}},
    },
    {
        "type": "content-delta",
        "index": 0,
        "delta": {"message": {"content": {"text": "Looking."}}},
    },
    {
        "type": "tool-call-start",
        "index": 0,
        "delta": {
            "message": {
                "tool_calls": {
                    "id": "call_a",
                    "type": "function",
                    "function": {"name": "get_booking", "arguments": ""},
                }
            }
        },
    },
    {
        "type": "tool-call-delta",
        "index": 0,
        "delta": {"message": {"tool_calls": {"function": {"arguments": '{"id":"B7"}'}}}},
    },
    {"type": "tool-call-end", "index": 0},
    {
        "type": "message-end",
        "delta": {
            "finish_reason": "TOOL_CALL",
            "usage": {"tokens": {"input_tokens": 9, "output_tokens": 4}},
        },
    },
]
GEMINI_CHUNKS: Final[JsonValue] = [
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Look"}]}}]},
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "ing."}]}}]},
    {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [{"functionCall": {"name": "get_booking", "args": {"id": "B7"}}}],
                },
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4},
    },
]
CONVERSE_EVENTS: Final[JsonValue] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Looking."}, "p": "abcdef"}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {
        "contentBlockStart": {
            "contentBlockIndex": 1,
            "start": {"toolUse": {"toolUseId": "t1", "name": "get_booking"}},
        }
    },
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"id":'}}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '"B7"}'}}}},
    {"contentBlockStop": {"contentBlockIndex": 1}},
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": {"inputTokens": 9, "outputTokens": 4}, "metrics": {"latencyMs": 5}}},
]

STREAMS: Final[dict[str, list[JsonValue]]] = {
    "anthropic-messages": [MESSAGE_EVENTS],
    "bedrock-converse": [CONVERSE_EVENTS],
    "cohere-chat": [COHERE_EVENTS],
    "gemini": [GEMINI_CHUNKS],
    "openai-chat": [CHAT_CHUNKS],
    "openai-responses": [RESPONSE_EVENTS],
}
"""One reply, streamed: the text `Looking.` and the call `get_booking` for B7."""
