"""The project's own tokenizer: bytes and common words, in tiktoken's file format. No torch.

It stands in where a Llama's tokenizer, which comes under a licence, is not at hand. Each of its
words is one token, as it is for the real ones, so that text made of them is as long in tokens.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

TOKENIZER_FILE = "tokenizer.model"
SPECIAL_TOKENS_FILE = "special_tokens.json"

_WORDS = """
the of and to in a is that for it was on are as with his they at be this from have or by one had
not but what all were when we there can an your which their said if do will each about how up
out them then she many some so these would other into has more her two like him see time could
no make than first been its who now people my made over did down only way find use may water
long little very after words called just where most know get through back much before go good
new write our used me man too any day same right look think also around another came come work
three word must because does part even place well such here take why things help put years
different away again off went old number great tell men say small every found still between name
should home big give air line set own under read last never us left end along while might next
sound below saw something thought both few those always looked show large often together asked
house world going want school important until form food keep children feet land side without boy
once animals life enough took sometimes four head above kind began almost live page got earth
need far hand high year mother light parts country father let night following picture being
study second eyes soon times story boys since white days ever paper hard near sentence better
best across during today others however sure means knew try told young miles sun ways thing
whole hear example heard several change answer room sea against top turned learn point city play
toward five using himself usually
"""
WORDS = tuple(_WORDS.split())
"""Common English words, all different."""
_TEMPLATE_WORDS = """
Below instruction describes task paired input provides further context Write response
appropriately completes request Instruction Input Response
"""
TEMPLATE_WORDS = tuple(_TEMPLATE_WORDS.split())
"""Of torchtune's template of Alpaca."""
SPECIAL_TOKENS = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|finetune_right_pad_id|>",
    "<|step_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|python_tag|>",
    "<|image|>",
    "<|video|>",
)
"""Those that torchtune's Llama 3 tokenizer asks for."""


def vocabulary() -> list[bytes]:
    """Return all ordinary tokens; a token's place is its number."""
    single = [bytes([value]) for value in range(256)]
    return single + [text.encode() for text in _pieces() if len(text) > 1]


def _pieces() -> Iterator[str]:
    for word in WORDS + TEMPLATE_WORDS:
        yield " " + word
        yield word


def write_tokenizer(folder: Path) -> Path:
    """Write the tokenizer's file into a folder and return its path."""
    path = folder / TOKENIZER_FILE
    lines = (
        f"{base64.b64encode(token).decode()} {number}\n"
        for number, token in enumerate(vocabulary())
    )
    path.write_text("".join(lines), encoding="ascii")
    return path


def write_special_tokens(folder: Path) -> Path:
    """Write the special tokens, numbered after the ordinary ones, and return the file's path.

    Only the tiny model wants them there: in the others they have numbers of their own.
    """
    first = len(vocabulary())
    tokens = [{"content": name, "id": first + i} for i, name in enumerate(SPECIAL_TOKENS)]
    path = folder / SPECIAL_TOKENS_FILE
    path.write_text(json.dumps({"added_tokens": tokens}, indent=1), encoding="utf-8")
    return path
