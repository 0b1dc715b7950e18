# SPDX-License-Identifier: Apache-2.0
"""A partial parser of C++ for the generator of mutants, in the format of these sources. Finds run-time code and whole
expressions."""
import re
from collections.abc import Iterator

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/                              # comment
  |^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*                                       # directive
  |"(?:\\.|[^"\\])*"|[A-Za-z_]\w*
  |(?:0[xX][\da-fA-F']+(?:\.[\da-fA-F]*)?(?:[pP][+-]?\d+)?|\d[\d']*(?:\.\d*)?(?:[eE][+-]?\d+)?)[uUlLfF]*
  |'(?:\\.|[^'\\])+'
  |<<=|>>=|->|\+\+|--|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|<<|(?<=\s)>>(?=\s)|::|\S""", re.MULTILINE | re.DOTALL | re.VERBOSE)

ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
EXPRESSION_BOUNDS = (*ASSIGNMENTS, ",", ";", "?", ":", "return", "else", "do")  # ends of an expression, beside brackets
CONTROL = ("if", "for", "while", "switch")
# Statements with one of these words are not run-time code, or cannot be duplicated.
STATIC = {"constexpr", "static_assert", "using", "typedef", "template", "case", "default", "namespace", "struct", "class", "enum", "union", "friend",
          "alignas", "sizeof", "decltype", "operator", "asm", "__asm__", "goto", "noexcept"}
NO_STATEMENT = {"return", "break", "continue", "if", "for", "while", "do", "switch", "else", "delete", "throw", "try", "catch", "public", "private"}
AFTER_INITIALIZER = (",", ")", ".", "<<", "+", "-", "*", "/", "&", "|")  # continue an expression
BEFORE_CODE = (")", "]", "else", "do", "const", "mutable", "noexcept", "override", "try", "{", "}", ";")  # precede the brace of a function or block


class Source:
    """The tokens of a header and their brackets."""

    def __init__(self, text: str) -> None:
        self.tokens = [m for m in TOKEN.finditer(text) if not m[0].lstrip().startswith(("//", "/*", "#"))]
        self.words = [m[0] for m in self.tokens]
        self.parent = [-1] * len(self.words)  # the opening bracket around a token
        self.partner: dict[int, int] = {}
        self.is_code: dict[int, bool] = {}  # by brace: True for a function or block; False for an initializer, class or namespace
        self.match_brackets()

    def is_adjacent(self, i: int) -> bool:
        """True if no space precedes token i."""
        return i > 0 and self.tokens[i - 1].end() == self.tokens[i].start()

    def match_brackets(self) -> None:
        stack: list[int] = []
        for i, word in enumerate(self.words):
            if word in (")", "]", "}") or word == ">" and stack and self.words[stack[-1]] == "<":
                opening = stack.pop()
                self.partner[opening], self.partner[i] = i, opening
            self.parent[i] = stack[-1] if stack else -1
            opens_template = word == "<" and (self.words[i - 1] == "template" or self.is_adjacent(i) and self.words[i - 1][0].isidentifier())
            if word in ("(", "[", "{") or opens_template:
                stack.append(i)
            if word == "{":
                self.is_code[i] = self.begins_code(i)

    def begins_code(self, brace: int) -> bool:
        before = self.words[brace - 1] if brace else ""
        declares = before in (")", "const") and self.words[self.statement_start(brace - 1)] in ("struct", "class", "namespace")
        return before in BEFORE_CODE and not declares

    def previous_at_level(self, i: int) -> int:
        """Returns the token before i at the same level; before a closing bracket, its opening bracket."""
        return self.partner[i - 1] if self.partner.get(i - 1, i) < i - 1 else i - 1

    def is_control_end(self, i: int) -> bool:
        """True if token i closes the condition of `if (..)` or a loop."""
        if self.words[i] != ")" or i not in self.partner:
            return False
        opening = self.partner[i]
        return self.words[opening - 1] in CONTROL or self.words[opening - 2:opening] == ["if", "constexpr"]

    def begins_statement(self, i: int) -> bool:
        return self.words[i - 1] in (";", "{", "}", "else", "do") or self.is_control_end(i - 1)

    def statement_start(self, i: int) -> int:
        """Returns the first token of the statement, or of the bracketed list, around token i."""
        while i > 0 and i - 1 != self.parent[i]:
            in_expression = self.words[i - 1] == "}" and not self.is_code.get(self.partner[i - 1]) and self.words[i] in AFTER_INITIALIZER
            if self.begins_statement(i) and not in_expression:
                break
            i = self.previous_at_level(i)
        return i

    def tokens_at_level(self, first: int, last: int) -> Iterator[int]:
        """Yields the tokens from first to last at the same bracket level."""
        i = first
        while i <= last:
            yield i
            i = self.partner[i] if self.partner.get(i, 0) > i else i + 1

    def is_declared_name(self, name: int) -> bool:
        """True if the token is the name in a declaration: a type precedes it."""
        before = self.words[name - 1]
        follows_type = before in (">", "*", "&") or before[0].isidentifier() and before not in EXPRESSION_BOUNDS
        return follows_type and not self.is_adjacent(name) and self.words[self.statement_start(name)] != "return"

    def is_runtime_code(self, i: int) -> bool:
        """True if token i is run-time code: in a function, but in no constant and no template argument."""
        while i >= 0:
            if STATIC & {self.words[k] for k in self.tokens_at_level(self.statement_start(i), i)}:
                return False
            bracket = self.parent[i]
            if bracket < 0:
                return False
            word, before = self.words[bracket], self.words[bracket - 1]
            if word == "{" and self.is_code[bracket]:
                return True
            in_macro_call = word == "(" and (before in STATIC or before.startswith(("SLICESORT_", "__")))
            is_capture = word == "[" and not before[0].isidentifier() and before not in ("]", ")")
            is_array_size = word == "[" and before[0].isidentifier() and self.is_declared_name(bracket - 1)
            if word == "<" or in_macro_call or is_capture or is_array_size:
                return False
            i = bracket
        return False

    def expression(self, i: int) -> tuple[int, int] | None:
        """Returns the first and last token of the whole expression around token i at its level; None if it cannot be duplicated."""
        is_assignment = self.words[i] in ASSIGNMENTS
        bounds = [b for b in EXPRESSION_BOUNDS if not (is_assignment and b in (*ASSIGNMENTS, "?", ":"))]
        first = last = i
        while first > 0 and first - 1 != self.parent[i] and self.words[first - 1] not in (*bounds, "{", "}") and not self.is_control_end(first - 1):
            first = self.previous_at_level(first)
        # An expression that begins a statement may be a declaration.
        if self.begins_statement(first) and (not is_assignment or " " in self.text_of(first, i - 1)):
            return None
        while self.words[last + 1] not in (")", "]", "}", *bounds) and not (self.words[last + 1] == ">" and self.partner.get(last + 1, i) < i):
            last = max(last + 1, self.partner.get(last + 1, 0))
        words = self.words[first:last + 1]
        if self.words[last + 1] in ASSIGNMENTS or any(w in ("{", "auto", "new") or w.startswith('"') for w in words):
            return None
        return first, last

    def statements(self) -> list[tuple[int, int]]:
        """Returns the first and last token of each statement that is a call or an assignment."""
        found = []
        for i, word in enumerate(self.words):
            if word != ";" or not self.is_code.get(self.parent[i]):
                continue
            first = self.statement_start(i)
            if first == i or self.words[first] in NO_STATEMENT or not self.is_runtime_code(i - 1):
                continue
            head = list(self.tokens_at_level(first, next((k - 1 for k in self.tokens_at_level(first, i) if self.words[k] in ASSIGNMENTS), i - 1)))
            declares = any(not self.is_adjacent(k) for k in head[1:])  # a space between a type and a name
            if not declares and "{" not in self.words[first:i]:
                found.append((first, i))
        return found

    def text_of(self, first: int, last: int, changes: dict[int, str] | None = None) -> str:
        """Returns the text of tokens without comments, in one line, with some words replaced."""
        words = {**dict(enumerate(self.words[first:last + 1], first)), **(changes or {})}
        return "".join((" " if k > first and not self.is_adjacent(k) else "") + words[k] for k in range(first, last + 1))
