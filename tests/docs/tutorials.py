"""Runs the tutorials from their pages' own text, against the built program.

    python3 tests/docs/tutorials.py ROOT BUILD [PAGE...]

Every block of shell is run, in a folder that is made for its page and looks like a checkout: build/ holds the programs of
BUILD. Blocks of Python run by the interpreter that RIDGELINE_TORCH_PYTHON names, with the newest wheel of BUILD/wheels;
they are left out where one of both is missing. A comment in front of a block says more:

    <!-- test: shows -->            what the blocks before it, since the last such comment, printed, in this order;
                                    `...` stands for anything, blanks count as one
    <!-- test: from PATH -->        these lines stand in that file of the repository
    <!-- test: not run (REASON) --> of a block of shell that takes more than a test has
    <!-- test: needs torch -->      of a block of Python

Blocks of other languages without a comment are not looked at; one of C, C++ or CMake needs a comment.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

BLOCK = re.compile(r"(?:^<!-- test: ([^\n]*?) -->\n)?^```([a-z]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS_COMMENT = {"c", "cpp", "cmake", "python"}


class Wrong(Exception):
    pass


def pattern_of(text):
    """What a block of output asks for, as an expression."""
    lines = []
    for line in text.strip().splitlines():
        words = [re.escape(part.strip()).replace(r"\ ", " ") for part in re.split(r"\.\.\.", line)]
        lines.append(".*".join(re.sub(r" +", r"\\s+", word) for word in words) if line.strip() != "..." else "")
    return re.compile(r"(?:.*?)".join(filter(None, lines)), re.DOTALL)


def same_lines(text, file):
    wanted = text.rstrip("\n")
    if wanted + "\n" not in file.read_text(encoding="utf-8"):
        raise Wrong(f"{file} does not hold these lines:\n{wanted}")


def python_with_wheel(build, folder):
    """The interpreter and its environment, or why there is none."""
    interpreter = os.environ.get("RIDGELINE_TORCH_PYTHON")
    if not interpreter:
        return None, "RIDGELINE_TORCH_PYTHON is not set"
    version = subprocess.run([interpreter, "-c", "import sys; print('cp%d%d' % sys.version_info[:2])"],
                             check=True, capture_output=True, text=True).stdout.strip()
    tag = version if version == "cp311" else "abi3"
    wheels = sorted((build / "wheels").glob(f"ridgeline-*{tag}*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        return None, f"no wheel for {version} in {build / 'wheels'}"
    site = folder / "site"
    subprocess.run([interpreter, "-m", "pip", "install", "--disable-pip-version-check", "-q", "--no-deps", "--no-index",
                    "--target", site, wheels[-1]], check=True)
    return [interpreter], {**os.environ, "PYTHONPATH": str(site)}


class Page:
    def __init__(self, root, build, path, folder):
        self.root, self.build, self.path, self.folder = root, build, path, folder
        self.output, self.shell, self.python, self.left_out = "", "", "", None
        (folder / "build" / "bindings").mkdir(parents=True)
        for program in [build / "ridgeline", *build.glob("example_*")]:
            (folder / "build" / program.name).symlink_to(program)
        if (build / "bindings" / "c").is_dir():
            (folder / "build" / "bindings" / "c").symlink_to(build / "bindings" / "c")

    def call(self, command, environment=None):
        done = subprocess.run(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300, stdin=subprocess.DEVNULL)
        self.output += done.stdout
        if done.returncode != 0:
            raise Wrong(f"exit code {done.returncode} of\n{command[-1]}\n{done.stdout}")

    def run_shell(self, text):
        # Later blocks see functions and variables of earlier ones, as in one shell session.
        state = self.folder / ".state"
        before = f". {state}\n" if state.exists() else ""
        self.call(["bash", "-euo", "pipefail", "-c", f"{before}{text}\ndeclare -f >{state}"])

    def run_python(self, text):
        if self.python == "":
            self.python, self.environment = python_with_wheel(self.build, self.folder)
            if self.python is None:
                self.left_out = self.environment
        if self.python is not None:
            # Later blocks use what earlier ones made; only the output of this block counts.
            told = len(self.shell)
            self.shell += text
            marked = self.shell[:told] + "\nprint('-- here --')\n" + self.shell[told:]
            before = len(self.output)
            self.call([*self.python, "-c", marked], self.environment)
            self.output = self.output[:before] + self.output[before:].split("-- here --\n", 1)[1]

    def block(self, comment, language, text):
        if comment is None and language in NEEDS_COMMENT:
            raise Wrong(f"a block of {language} without a comment that says how it is tested")
        if comment is None and language == "sh":
            self.run_shell(text)
        elif comment == "needs torch":
            self.run_python(text)
        elif comment == "shows":
            if self.left_out is None and not pattern_of(text).search(self.output):
                raise Wrong(f"these lines were not printed:\n{text}\nbut\n{self.output}")
            self.output = ""
        elif comment and comment.startswith("from "):
            same_lines(text, self.root / comment[len("from "):])
        elif comment and not re.fullmatch(r"not run \(.+\)", comment):
            raise Wrong(f"nobody knows the comment 'test: {comment}'")

    def run(self):
        text = self.path.read_text(encoding="utf-8")
        if text.count("<!-- test:") != sum(match[1] is not None for match in BLOCK.finditer(text)):
            raise Wrong("a comment 'test: ...' that stands in front of no block")
        for match in BLOCK.finditer(text):
            line = text[:match.start(2)].count("\n") + 1
            try:
                self.block(match[1], match[2], match[3])
            except Wrong as error:
                raise Wrong(f"{self.path}:{line}: {error}") from None


def main(arguments):
    if len(arguments) < 3:
        print(__doc__.split("\n\n")[1].strip(), file=sys.stderr)
        return 2
    root, build = pathlib.Path(arguments[1]).resolve(), pathlib.Path(arguments[2]).resolve()
    pages = [pathlib.Path(page) for page in arguments[3:]] or sorted((root / "docs" / "tutorials").glob("*.md"))
    failures = 0
    for path in pages:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            page = Page(root, build, path, pathlib.Path(folder).resolve())
            try:
                page.run()
                verdict = "ok" if page.left_out is None else f"ok, except for the blocks of Python: {page.left_out}"
            except (Wrong, subprocess.SubprocessError) as error:
                failures += 1
                verdict = f"FAILED\n{error}"
        print(f"{path.name} ({time.monotonic() - begin:.0f} s): {verdict}", flush=True)
    return 1 if failures or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
