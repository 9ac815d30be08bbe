"""The source tree as the checks see it: files with their text, their code without comments and strings, their room and
what they include. Reads only; standard library only."""

import os
import re

ROOMS = ("actors/kernel", "base", "comm", "data", "checkpoint", "actors", "sim", "cli", "bench", "examples", "tests",
         "docs", "subprojects")
INCLUDE_DIRS = ("", "base", "actors", "actors/kernel")
SKIPPED_DIRS = {".git", "build", "__pycache__", ".cache", "run-data"}
TEXT = (".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".capnp", ".py", ".build", ".txt", ".md", ".toml", ".wrap", ".in",
        ".supp", ".yml", ".sh", "")
CODE = (".hpp", ".cpp", ".h", ".cu", ".cuh")

_NOISE = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"([^()\s]{0,16})\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def _blank(match):
    """Keeps line numbers: every character but the line ends becomes a space, quotes stay."""
    text = match.group(0)
    if text.startswith("/"):
        return re.sub(r"[^\n]", " ", text)
    return '"' + re.sub(r"[^\n]", " ", text[1:-1]) + '"'


class File:
    """One file. `path` is relative to the root, with forward slashes."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        self.suffix = os.path.splitext(path)[1]
        self.name = os.path.basename(path)
        self.is_code = self.suffix in CODE
        self.room = next((room for room in ROOMS if path.startswith(room + "/")), "")
        self.code = _NOISE.sub(_blank, text) if self.is_code else text
        self.code_lines = self.code.split("\n")
        # (line, '<' or '"', name); from the text, since the code has its strings blanked.
        self.includes = [(text.count("\n", 0, m.start()) + 1, m.group(1), m.group(2))
                         for m in _INCLUDE.finditer(text)] if self.is_code else []

    def allows(self, line, rule):
        """'tidy: allow(rule) why' on the line or the one above it."""
        mark = f"tidy: allow({rule})"
        return any(0 < n <= len(self.lines) and mark in self.lines[n - 1] for n in (line, line - 1))


class Tree:
    """All files of the project. Samples of the self-test are trees too."""

    def __init__(self, files):
        self.files = {file.path: file for file in files}

    def resolve(self, includer, name):
        """Path in the tree that `#include "name"` means, or None for a third-party or generated header."""
        for folder in (os.path.dirname(includer.path),) + INCLUDE_DIRS:
            path = os.path.normpath(os.path.join(folder, name)).replace(os.sep, "/")
            for candidate in (path, path + ".in"):
                if candidate in self.files:
                    return candidate
        return None

    def code(self):
        return [file for file in self.files.values() if file.is_code]


def load(root):
    files = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if name not in SKIPPED_DIRS
                               and not name.endswith(".troupe-run"))
        here = os.path.relpath(folder, root).replace(os.sep, "/")
        if here == "subprojects":
            subfolders[:] = ["packagefiles"]
        for name in sorted(names):
            path = name if here == "." else f"{here}/{name}"
            if os.path.splitext(name)[1] not in TEXT or os.path.islink(os.path.join(root, path)):
                continue
            try:
                with open(os.path.join(root, path), encoding="utf-8") as stream:
                    files.append(File(path, stream.read()))
            except UnicodeDecodeError:
                continue
    return Tree(files)


class Finding:
    def __init__(self, file, line, rule, text):
        self.file, self.line, self.rule, self.text = file, line, rule, text

    def __str__(self):
        return f"{self.file.path}:{self.line}: [{self.rule}] {self.text}"
