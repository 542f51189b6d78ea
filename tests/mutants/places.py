# SPDX-License-Identifier: Apache-2.0
"""Where a C file can be changed, one small change at a time.

Comments, strings, preprocessor lines, assertions and lines of the log are left as they are.
"""
import re
from typing import NamedTuple

TOKEN = re.compile(
    r"(?P<space>\s+|/\*.*?\*/|//[^\n]*)"
    r"|(?P<hash>(?<![^\n])[ \t]*\#(?:[^\n\\]|\\.)*)"
    r'|(?P<text>"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')'
    r"|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)",
    re.DOTALL,
)
SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "+=": "-=", "-=": "+=", "true": "false", "false": "true",
}  # fmt: skip
KIND = {
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), "comparison"),
    **dict.fromkeys(("&&", "||"), "logic"),
    **dict.fromkeys(("+", "-", "+=", "-="), "arithmetic"),
    **dict.fromkeys(("true", "false"), "constant"),
}
KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "do", "else", "goto", "case", "typeof", "_Alignof"}
BEGINNINGS = (";", "{", "}", ")", "else")  # what is before a statement
LEFT_ALONE = re.compile(r"(static_)?assert|_Static_assert|log_line|__attribute__|_Alignas")
# Only a sanitizer sees that these are missing.
UNSEEN = re.compile(r"free|explicit_bzero|sodium_memzero|va_end|pthread_mutex_(init|destroy|lock)|pthread_cond_(init|destroy)|engine_lock|\w+_wipe")
# What is missing then is speed.
HINT = re.compile(r"sched_yield|madvise|\w*prefetch|\w+_relax|\w+_pause|__asm__")
NEVER_ZERO = re.compile(r"(\w+_)?(fd|pid|descriptor)s?")
LARGE = 16


class Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def end(self):
        return self.start + len(self.text)


class Place(NamedTuple):
    kind: str
    start: int  # the text from here to `end` is replaced by `new`
    end: int
    new: str


def tokens_of(source):
    """Tokens without what is left alone."""
    found = [Token(m.lastgroup, m[0], m.start()) for m in TOKEN.finditer(source) if m.lastgroup not in ("space", "hash")]
    kept, at = [], 0
    while at < len(found):
        if found[at].kind == "name" and LEFT_ALONE.fullmatch(found[at].text):
            at = close_of(found, at + 1)
        else:
            kept.append(found[at])
        at += 1
    return kept


def close_of(tokens, at):
    """The bracket that closes the one at `at`, or `at` if none is there."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i].text in "([{") - (tokens[i].text in ")]}")
        if depth <= 0:
            return i
    return at


def is_value(token):
    """Whether an operator after this token has a left operand."""
    return token.kind in ("number", "text") or token.text in (")", "]") or (token.kind == "name" and token.text not in KEYWORDS)


def is_array_size(tokens, at):
    """Whether the number is all of the size of an array that is declared: a buffer that is a little larger."""
    before, after = tokens[at - 3], tokens[at + 2 : at + 3]
    is_alone = tokens[at - 1].text == "[" and tokens[at + 1].text == "]" and tokens[at - 2].kind == "name"
    return is_alone and (before.text == "*" or is_value(before)) and after and after[0].text in (";", "=", ",")


def is_large_enumerator(tokens, at):
    """Whether it is a named limit, size or time, of which one more is nothing that anybody could tell."""
    named = tokens[at - 1].text == "=" and tokens[at - 2].text.isupper() and tokens[at + 1].text in (",", "}")
    return named and tokens[at - 3].text in (",", "{") and int(re.match(r"\d+", tokens[at].text)[0]) >= LARGE


def is_of_descriptor(tokens, at):
    """Whether the sign at `at` compares a descriptor or a process with 0, which neither can be where one was asked for."""
    return bool(tokens[at].text in ("<", ">", "<=", ">=") and NEVER_ZERO.fullmatch(tokens[at - 1].text) and tokens[at + 1].text == "0")


def constant_places(tokens, at):
    token, before, after = tokens[at], tokens[at - 1].text, tokens[at + 1].text
    digits = re.fullmatch(r"(0|[1-9]\d*)([uUlL]*)", token.text)
    if not digits or before == "case" or (before, after) == ("{", "}"):
        return
    if is_large_enumerator(tokens, at) or is_array_size(tokens, at) or (digits[1] == "0" and is_of_descriptor(tokens, at - 1)):
        return
    if before == "(" and tokens[at - 2].text == "xcalloc":
        return  # it makes room for one of none
    new = 0 if digits[1] == "1" else int(digits[1]) + 1
    yield Place("constant", token.start, token.end, f"{new}{digits[2]}")


def call_places(tokens, at):
    """A statement that is nothing but a call."""
    name, before = tokens[at], tokens[at - 1].text
    if tokens[at + 1].text != "(" or name.text in KEYWORDS or before not in BEGINNINGS:
        return
    if UNSEEN.fullmatch(name.text) or HINT.fullmatch(name.text):
        return
    close = close_of(tokens, at + 1)
    if close + 1 < len(tokens) and tokens[close + 1].text == ";":
        yield Place("call deleted", name.start, tokens[close].end, "(void)0")


def name_places(tokens, at):
    token, after = tokens[at], tokens[at + 1]
    if token.text in ("if", "while") and after.text == "(":
        close = close_of(tokens, at + 1)
        yield Place("condition negated", after.end, after.end, "!(")._replace(end=tokens[close].start)
    elif token.text == "return" and re.match(r"HVD_(OK|ERR_\w+)$", after.text) and tokens[at + 2].text == ";":
        yield Place("status", after.start, after.end, "HVD_ERR_SYSTEM" if after.text == "HVD_OK" else "HVD_OK")
    elif token.text in SWAPS:
        yield Place(KIND[token.text], token.start, token.end, SWAPS[token.text])
    else:
        yield from call_places(tokens, at)


def places_of(source):
    """All places of this text of a C file, in the order of the file."""
    tokens, depth = tokens_of(source), 0
    for at in range(1, len(tokens) - 2):
        token = tokens[at]
        depth += (token.text == "{") - (token.text == "}")
        if depth == 0:
            continue
        if token.kind == "number":
            yield from constant_places(tokens, at)
        elif token.kind == "name":
            yield from name_places(tokens, at)
        elif token.kind == "sign" and token.text in SWAPS and is_value(tokens[at - 1]) and not is_of_descriptor(tokens, at):
            yield Place(KIND[token.text], token.start, token.end, SWAPS[token.text])


def changed(source, place):
    """The text with this change."""
    old = source[place.start : place.end]
    new = f"!({old})" if place.kind == "condition negated" else place.new
    return source[: place.start] + new + source[place.end :]


def function_at(source, start):
    """The name of the function whose body has this position, or empty in an initialiser of a file."""
    tokens = [m for m in TOKEN.finditer(source) if m.lastgroup not in ("space", "hash")]
    depth, opened = 0, None
    for at, token in enumerate(tokens):
        if token.start() >= start:
            break
        depth += (token[0] == "{") - (token[0] == "}")
        if token[0] == "{" and depth == 1:
            opened = at
    return name_before(tokens, opened) if opened else ""


def name_before(tokens, at):
    """The name before the brackets that end here."""
    depth = 0
    if tokens[at - 1][0] != ")":
        return ""
    for i in range(at - 1, 0, -1):
        depth += (tokens[i][0] == ")") - (tokens[i][0] == "(")
        if depth == 0:
            return tokens[i - 1][0]
    return ""
