"""Writes a model file of half a megabyte: two layers, one token a byte, weights by chance.

The first number of its state is the same for every token, so that what it multiplies in the output
makes some bytes likely: a quotation mark, which ends a text, and no byte that is not ASCII.

Format: GGUF version 3, as llama.cpp documents it. The same seed writes the same file.
"""

from __future__ import annotations

import random
import struct
from array import array
from pathlib import Path

MAGIC, VERSION, ALIGNMENT = b"GGUF", 3, 32
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9
FIRST_BYTE, ASCII = 3, 128
BYTES, EMBEDDING, FORWARD, LAYERS, HEADS = 256, 64, 128, 2, 4
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"
TOKENS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(BYTES))]


def write_tiny_gguf(path: Path, *, seed: int = 7) -> Path:
    """The file at `path` is a model that says anything, in no time."""
    chance = random.Random(seed)  # noqa: S311 - weights are no secret
    tensors = [(name, shape, _weights(chance, name, shape)) for name, shape in _shapes()]
    values = list(_values())
    head = MAGIC + struct.pack("<IQQ", VERSION, len(tensors), len(values)) + b"".join(values)
    offset, data = 0, b""
    for name, shape, weights in tensors:
        dimensions = struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += _string(name) + struct.pack("<I", len(shape)) + dimensions
        head += struct.pack("<IQ", 0, offset)
        data += _padded(weights)
        offset = len(data)
    path.write_bytes(_padded(head) + data)
    return path


def _shapes() -> list[tuple[str, tuple[int, ...]]]:
    square, wide = (EMBEDDING, EMBEDDING), (FORWARD, EMBEDDING)
    shapes: list[tuple[str, tuple[int, ...]]] = [
        ("token_embd.weight", (len(TOKENS), EMBEDDING)),
        ("output.weight", (len(TOKENS), EMBEDDING)),
        ("output_norm.weight", (EMBEDDING,)),
    ]
    for layer in range(LAYERS):
        named = {f"attn_{part}": square for part in ("q", "k", "v", "output")}
        named |= {"ffn_gate": wide, "ffn_up": wide, "ffn_down": (EMBEDDING, FORWARD)}
        shapes += [(f"blk.{layer}.{name}.weight", shape) for name, shape in named.items()]
        shapes += [(f"blk.{layer}.{n}_norm.weight", (EMBEDDING,)) for n in ("attn", "ffn")]
    return shapes


def _weights(chance: random.Random, name: str, shape: tuple[int, ...]) -> bytes:
    if "norm" in name:
        return array("f", [1.0] * shape[0]).tobytes()
    rows, width = shape[0], shape[-1]
    made = array("f", [chance.gauss(0, 0.05) for _ in range(rows * width)])
    if name.endswith(("attn_output.weight", "ffn_down.weight")):
        made[:width] = array("f", [0.0] * width)
    for token in range(rows):
        if name == "token_embd.weight":
            made[token * width] = 1.0
        elif name == "output.weight":
            made[token * width] = _likely(token)
    return made.tobytes()


def _likely(token: int) -> float:
    byte = token - FIRST_BYTE
    if byte >= ASCII:
        return -10.0
    return 0.5 if byte == ord('"') else -0.5 if chr(max(byte, 0)).isspace() else 0.0


def _values() -> list[bytes]:
    numbers = {
        "llama.context_length": 16384,
        "llama.embedding_length": EMBEDDING,
        "llama.block_count": LAYERS,
        "llama.feed_forward_length": FORWARD,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": HEADS,
        "llama.rope.dimension_count": EMBEDDING // HEADS,
        "llama.vocab_size": len(TOKENS),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }
    texts = {
        "general.architecture": "llama",
        "general.name": "tiny",
        "tokenizer.ggml.model": "llama",
        "tokenizer.chat_template": TEMPLATE,
    }
    kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * BYTES]
    count = len(TOKENS)
    return [
        *(_value(name, STRING, _string(text)) for name, text in texts.items()),
        *(_value(name, UINT32, struct.pack("<I", number)) for name, number in numbers.items()),
        _value("llama.attention.layer_norm_rms_epsilon", FLOAT32, struct.pack("<f", 1e-5)),
        _array("tokenizer.ggml.tokens", STRING, b"".join(map(_string, TOKENS)), count),
        _array("tokenizer.ggml.scores", FLOAT32, struct.pack(f"<{count}f", *[0.0] * count), count),
        _array("tokenizer.ggml.token_type", INT32, struct.pack(f"<{count}i", *kinds), count),
    ]


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(name: str, kind: int, data: bytes) -> bytes:
    return _string(name) + struct.pack("<I", kind) + data


def _array(name: str, kind: int, data: bytes, count: int) -> bytes:
    return _value(name, ARRAY, struct.pack("<IQ", kind, count) + data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % ALIGNMENT)
