"""The rules of the tree, as docs/README.md states them; prints each breach on a line and exits with 1.

    python3 tests/house/house.py ROOT

1. An include points down the list of folders; graph/ and data/ never include each other; inside graph/ and inside
   data/ the parts come in their own order; above device/ nobody includes what belongs to one device.
2. Our files are included by their full path ("ridgeline/core/shape.h"), and the path exists.
3. JSON, command-line, text and log libraries are included in .cpp files only (their forward declarations, *_fwd.hpp, anywhere).
4. No source has more than 500 lines, unless it is listed below with the reason.
5. Every folder of ridgeline/ that holds sources has its page in docs/, and the index names it.
6. A link in README.md, HACKING.md or docs/ to a file of the tree, or to a heading of a page, leads there.
7. README.md has at most 150 lines. A paragraph of a page has at most 120 words and its lines have at most 120 columns,
   except on the pages listed below.
8. No source and no page has a word of the list below: each has a plain one, or the field's own, in its place.
9. No kernel of a card, and nothing that loops become there, has an atomic operation: sums in no fixed order would give
   other bits from run to run. (That none keeps an array in local memory the compiler checks, see the device's
   CMakeLists.txt.)
"""

import pathlib
import re
import sys

# In the order in which work comes down: a folder may include itself and those after it.
FOLDERS = ["cli", "train", "nn", "optim", "infer", "compile", "device", "comm", "graph", "data", "image", "format", "core"]
STRANGERS = {("graph", "data"), ("data", "graph")}
# A device's own files are for the device and for what chooses it: these know the contract alone (device/*.h).
KNOW_NO_DEVICE = {"cli", "train", "nn", "optim", "infer", "compile"}
# The same inside some folders, as levels. Of graph/: the op definitions, their expressions and the IR are one level; passes rewrite what
# they define, drawings show it; gradients come last, so that a program that only infers links none.
# Of train/: "" are the files of the folder itself; the library of training knows nothing of recipes.
# Of data/: tools stand on runs, runs on what the calls made; sources and the IR ask each other (columns, sizes).
PARTS = {
    "graph": {"grad": 0, "draw": 1, "pass": 1, "op": 2, "loop": 2, "ir": 2},
    "data": {"tool": 0, "make": 1, "standard": 2, "runtime": 3, "minddata": 4, "source": 5, "api": 6, "draw": 7, "pass": 7,
             "transform": 8, "sample": 9, "ir": 10, "set": 11},
    "train": {"doctor": 0, "experiment": 0, "launch": 0, "recipe": 1, "callback": 2, "metric": 2, "report": 2, "loop": 2, "checkpoint": 2,
              "ranks": 2, "": 2},
}
INSIDE_CPP = ("fmt/", "nlohmann/", "spdlog/", "CLI/", "pugixml.hpp", "libdeflate.h")
MAX_LINES = 500
LONG_FILES = {}  # "path": "reason"
README_LINES = 150
MAX_WORDS = MAX_COLUMNS = 120
# Pages that a program writes.
LONG_PARAGRAPHS = {f"docs/{name}.md" for name in ("ops", "options", "precision-lists")}

# Words that are read twice, and what says the same at once.
WORDS = {
    r"dear(er|est)?": "expensive",
    r"g[ia]ve?s?(ing|n)?[ _]way": "is replaced by",
    r"h[au]ngs? on": "depends on",
    r"endur(e|es|ed|ing)": "tolerates",
    r"reckon(s|ed|ing)?": "computes, estimates",
    r"the law of": "the rule of",
    r"lest": "so that ... not",
    r"thereof|whereof|thereby|whereby": "of it, by which",
    r"but for": "except (for)",
    r"(passed|read) over": "skipped",
    r"one behind the other": "one after the other, contiguous",
    r"(is|are|was|were) through": "has finished",
    r"next to nothing": "almost nothing",
    r"behind the host": "asynchronously",
    r"text forms?": "text format",
    r"fused forms?": "fusion, fused op",
}
NOT_THE_WORD = {"cannot hang on"}  # a step that hangs

# Where the code of cards comes from, and what an atomic operation is called in it: a function or a type of C++ or CUDA,
# or an instruction of PTX. Comments may speak of them.
CARD_CODE = ("ridgeline/device/cuda/kernels", "ridgeline/device/cuda/loop")
ATOMICS = re.compile(r"atomic(?!ally)|\b(atom|red|multimem)\.")

# Highway compiles a file once for each instruction set by including it through this macro.
INCLUDE = re.compile(r'^\s*#\s*(?:include|define\s+HWY_TARGET_INCLUDE)\s*(["<])([^">]+)[">]')


def sources(root, *folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp") and path.is_file():
                yield path


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1], match[2]


def direction_error(importer, included):
    """Why a file may not include another, both as paths below ridgeline/; None when it may."""
    if importer.parts == ("ridgeline.h",):  # what programs include: all of it
        return None
    ours, theirs = importer.parts[0], included.parts[0]
    for folder in (ours, theirs):
        if folder not in FOLDERS:
            return f"ridgeline/{folder} is not in the list of folders"
    if (ours, theirs) in STRANGERS:
        return f"{ours}/ and {theirs}/ know nothing of each other"
    if ours in KNOW_NO_DEVICE and theirs == "device" and len(included.parts) > 2:
        return f"{ours}/ knows devices by their contract alone (device/*.h)"
    if FOLDERS.index(theirs) < FOLDERS.index(ours):
        return f"{theirs}/ lies above {ours}/"
    levels = PARTS.get(ours)
    if ours == theirs and levels:
        part, used = (path.parts[1] if len(path.parts) > 2 else "" for path in (importer, included))
        if "" in (part, used) and "" not in levels:
            return None
        for name in (part, used):
            if name not in levels:
                return f"{ours}/{name} is not in the list of {ours}/'s parts"
        if levels[used] < levels[part]:
            return f"{ours}/{used} lies above {ours}/{part}"
    return None


def check_includes(root):
    for path in sources(root, "ridgeline", "tests", "bench", "examples"):
        inside = path.relative_to(root)
        ours = inside.parts[0] == "ridgeline"
        for number, bracket, name in includes(path):
            where = f"{inside}:{number}"
            if ours and path.suffix == ".h" and name.startswith(INSIDE_CPP) and not name.endswith("_fwd.hpp"):
                yield f"{where}: {name} belongs into a .cpp file"
            if name.startswith("ridgeline/"):
                if not (root / name).is_file():
                    yield f"{where}: there is no {name}"
                elif ours:
                    error = direction_error(pathlib.PurePath(*inside.parts[1:]), pathlib.PurePath(*name.split("/")[1:]))
                    if error:
                        yield f"{where}: includes {name}, but {error}"
            elif bracket == '"' and ours and (path.parent / name).is_file():
                yield f"{where}: {name} is included without its full path"


def check_lengths(root, allowed):
    for path in sources(root, "ridgeline", "tests", "bench", "examples"):
        inside = str(path.relative_to(root))
        with path.open("rb") as file:
            lines = sum(1 for _ in file)
        if lines > MAX_LINES and inside not in allowed:
            yield f"{inside}: {lines} lines (at most {MAX_LINES}): two subjects in one file?"
        if lines <= MAX_LINES and inside in allowed:
            yield f"{inside}: listed as a long file, has {lines} lines: take it off the list"
    for inside in allowed:
        if not (root / inside).is_file():
            yield f"{inside}: listed as a long file, but there is none"


def check_pages(root):
    index = root / "docs" / "README.md"
    text = index.read_text(encoding="utf-8") if index.is_file() else ""
    for folder in sorted({path.relative_to(root).parts[1] for path in sources(root, "ridgeline")}):
        if folder.endswith(".h"):  # the header of all headers
            continue
        if not (root / "docs" / f"{folder}.md").is_file():
            yield f"docs/{folder}.md is missing: ridgeline/{folder} has sources"
        elif f"({folder}.md)" not in text:
            yield f"docs/README.md does not name {folder}.md"


def anchors(page):
    """The headings of a page as a link's fragment names them (GitHub's rule, without repeated headings)."""
    headings = re.findall(r"^#+ +(.*?) *$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def all_pages(root):
    pages = [root / "README.md", root / "HACKING.md", *sorted((root / "docs").rglob("*.md"))]
    return filter(pathlib.Path.is_file, pages)


def check_links(root):
    for page in all_pages(root):
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, fragment = link.partition("#")
            target = page.parent / path if path else page
            if not target.exists() or (fragment and fragment not in anchors(target)):
                yield f"{page.relative_to(root)}: the link {link} leads nowhere"


def paragraphs(page):
    """(line, text) of each paragraph and item; tables, headings, quoted blocks and comments are none."""
    begin, held, fence = 0, [], False
    for number, line in enumerate([*page.read_text(encoding="utf-8").splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        outside = fence or not line.strip() or re.match(r"[|#<]|```|    (?! *([-*+]|\d+\.) )", line) and not held
        if held and (outside or re.match(r" *([-*+]|\d+\.) |[|#<]|```", line)):
            yield begin, held
            held = []
        if not outside and not re.match(r"[|#<]|```", line):
            begin = begin if held else number
            held.append(line)


def check_paragraphs(root, allowed):
    readme = root / "README.md"
    if readme.is_file() and (lines := len(readme.read_text(encoding="utf-8").splitlines())) > README_LINES:
        yield f"README.md: {lines} lines (at most {README_LINES})"
    for page in all_pages(root):
        name = str(page.relative_to(root))
        if name in allowed:
            continue
        for begin, lines in paragraphs(page):
            if (words := len(" ".join(lines).split())) > MAX_WORDS:
                yield f"{name}:{begin}: a paragraph of {words} words (at most {MAX_WORDS})"
            for number, line in enumerate(lines, begin):
                if len(line) > MAX_COLUMNS:
                    yield f"{name}:{number}: {len(line)} columns (at most {MAX_COLUMNS})"


def check_words(root):
    listed = re.compile("|".join(rf"(?P<w{i}>(?<![A-Za-z])({word})(?![A-Za-z]))" for i, word in enumerate(WORDS)), re.IGNORECASE)
    plain = list(WORDS.values())
    house = pathlib.Path("tests", "house")
    files = [path for folder in ("ridgeline", "tests", "bench", "examples", "scripts", "bindings")
             for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cpp", ".c", ".cu", ".py", ".sh", ".yaml", ".md")]
    for path in [*files, *all_pages(root)]:
        if house in path.relative_to(root).parents:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            for match in listed.finditer(line):
                if any(words in line for words in NOT_THE_WORD):
                    continue
                kind = next(i for i in range(len(plain)) if match[f"w{i}"])
                yield f"{path.relative_to(root)}:{number}: '{match[0]}': plainer is '{plain[kind]}'"


def check_atomics(root):
    for folder in CARD_CODE:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".cu", ".cuh", ".in"):
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                code = re.sub(r"(?<!:)//.*", "", line)
                if match := ATOMICS.search(code):
                    yield f"{path.relative_to(root)}:{number}: '{match[0]}': a kernel of a card has no atomic operation"


def breaches(root, long_files=None):
    root = pathlib.Path(root)
    yield from check_includes(root)
    yield from check_lengths(root, LONG_FILES if long_files is None else long_files)
    yield from check_pages(root)
    yield from check_links(root)
    yield from check_paragraphs(root, LONG_PARAGRAPHS)
    yield from check_words(root)
    yield from check_atomics(root)


def main(arguments):
    if len(arguments) != 2 or not (pathlib.Path(arguments[1]) / "ridgeline").is_dir():
        print("usage: house.py ROOT   (the folder that holds ridgeline/)", file=sys.stderr)
        return 2
    found = list(breaches(arguments[1]))
    print("\n".join(found) if found else "the tree keeps the rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
