"""Wraps paragraphs of pages at 120 columns and splits those of more than 120 words where a sentence ends.

    python3 scripts/wrap_pages.py PAGE.md...

What remains longer, as one sentence, is printed: write it again. Tables, code and headings stay as they are.
"""

import math
import re
import sys
import textwrap

COLUMNS = WORDS = 120
ITEM = re.compile(r"^( *)([-*+]|\d+\.) +")
OTHER = ("#", "|", "<", "![", "```")  # begin lines that are not paragraphs
SENTENCE = re.compile(r'(?<=[.!?)])\s+(?=[A-Z`*\["(])')


def parts_of(text):
    """The paragraphs that a paragraph becomes, of about the same length."""
    words = len(text.split())
    if words <= WORDS:
        return [text]
    count = math.ceil(words / (WORDS - 15))
    parts, held, length = [], [], 0
    for sentence in SENTENCE.split(text):
        more = len(sentence.split())
        enough = length >= 0.85 * words / count and len(parts) < count - 1
        if held and (enough or length + more > WORDS):
            parts.append(" ".join(held))
            held, length = [], 0
        held.append(sentence)
        length += more
    return [*parts, " ".join(held)]


def filled(text, first, rest):
    """Lines. Code and links stay on one line where they are short enough, and no line begins like an item."""
    whole = lambda match: match[0].replace(" ", "\0") if len(match[0]) <= 100 else match[0]
    for kept in (r"`[^`]*`", r"\[[^\]\[]*\]\([^)]*\)"):
        text = re.sub(kept, whole, text)
    lines = textwrap.wrap(text, COLUMNS, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                          break_on_hyphens=False)
    for i in range(1, len(lines)):
        if re.match(r"\s*([-+*]|\d+\.|#+)\s", lines[i]):
            lines[i - 1], _, word = lines[i - 1].rpartition(" ")
            lines[i] = f"{rest}{word} {lines[i].strip()}"
    return [line.replace("\0", " ") for line in lines]


def wrapped(text, name):
    lines, out, fence, i = text.split("\n"), [], False, 0
    while i < len(lines):
        line, item = lines[i], ITEM.match(lines[i])
        i += 1
        if line.lstrip().startswith("```"):
            fence = not fence
        code = line.startswith("    ") and not item
        if fence or code or not line.strip() or line.lstrip().startswith(OTHER):
            out.append(line)
            continue
        held = [line[item.end():] if item else line.strip()]
        while i < len(lines) and lines[i].strip() and not lines[i].startswith(OTHER) and not ITEM.match(lines[i]):
            held.append(lines[i].strip())
            i += 1
        first = item[0] if item else re.match(" *", line)[0]
        for k, part in enumerate(parts_of(" ".join(held))):
            rest = " " * len(first)
            out += [""] * (k > 0) + filled(part, rest if k else first, rest)
            if len(part.split()) > WORDS:
                print(f"{name}: a sentence too long: {part[:60]}...")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).rstrip("\n") + "\n"


def main(pages):
    for page in pages:
        with open(page, encoding="utf-8") as file:
            text = file.read()
        with open(page, "w", encoding="utf-8") as file:
            file.write(wrapped(text, page))


if __name__ == "__main__":
    main(sys.argv[1:])
