"""What mkdocs.yml hooks in: the pages are written for a reader of the repository, and this makes a site of them.

- README.md and HACKING.md become pages, and so does every file or folder of the repository that a page links to.
- A list may follow a paragraph without an empty line, as GitHub has it; Python-Markdown wants one.
- A table gets a frame that scrolls, so that a phone shows it.
"""

import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = {"README.md": "readme.md", "HACKING.md": "hacking.md"}
LINK = re.compile(r"(?<=\]\()([^)\s#]+)((?:#[^)\s]*)?)(?=\))")
ITEM = re.compile(r"(?:[-*+]|\d+\.) ")
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".py": "python", ".sh": "sh", ".c": "c", ".txt": "text", ".yaml": "yaml"}


def outer_path(page, link):
    """The path below the repository's root, where a link of a page (a path below docs/) leads out of docs/."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    inside = path == "docs" or path.startswith("docs/")
    return None if inside or path.startswith("..") or not (ROOT / path).exists() else path


def page_of(path):
    return PAGES.get(path) or f"source/{path}.md"


def text_of(path):
    if path in PAGES:
        return as_seen_from_docs((ROOT / path).read_text(encoding="utf-8"))
    if (ROOT / path).is_dir():
        names = sorted(entry.name for entry in (ROOT / path).iterdir() if entry.is_file())
        return f"# {path}/\n\n" + "".join(f"- `{name}`\n" for name in names)
    language = LANGUAGES.get((ROOT / path).suffix, "text")
    return f"# {path}\n\n```{language}\n{(ROOT / path).read_text(encoding='utf-8')}```\n"


def as_seen_from_docs(text):
    """A page of the root, moved into docs/."""
    def moved(match):
        path = match[1]
        if re.match(r"[a-z]+:", path):
            return match[0]
        return (path[len("docs/"):] or "README.md" if path.startswith("docs/") else "../" + path) + match[2]
    return LINK.sub(moved, text)


def on_files(files, config):
    wanted = set(PAGES)
    for file in files.documentation_pages():
        if file.src_uri.startswith("source/"):
            continue
        for match in LINK.finditer(pathlib.Path(file.abs_src_path).read_text(encoding="utf-8")):
            wanted.add(outer_path(file.src_uri, match[1]))
    for page in PAGES:
        for match in LINK.finditer(text_of(page)):
            wanted.add(outer_path("x.md", match[1]))
    for path in sorted(wanted - {None}):
        file = File.generated(config, page_of(path), content=text_of(path))
        if path not in PAGES:
            file.inclusion = file.inclusion.NOT_IN_NAV
        files.append(file)
    return files


def spaced(lines):
    """Empty lines in front of lists, and four spaces in front of what belongs to an item."""
    before, fence, width = "", False, 0
    for line in lines:
        item = None if fence else ITEM.match(line)
        if line.lstrip().startswith("```"):
            fence = not fence
        elif item and before.strip() and not width:
            yield ""
        if item:
            width = item.end()
        elif line.strip() and not line.startswith(" " * min(width, 2)):
            width = 0
        yield " " * (4 - width) + line if width and not item and line.startswith("  ") else line
        before = line


def on_page_markdown(text, page, **_):
    def to_site(match):
        path = outer_path(page.file.src_uri, match[1])
        if path is None or re.match(r"[a-z]+:", match[1]):
            return match[0]
        return posixpath.relpath(page_of(path), posixpath.dirname(page.file.src_uri) or ".") + match[2]
    return "\n".join(spaced(LINK.sub(to_site, text).split("\n")))


def on_page_content(html, **_):
    return html.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
