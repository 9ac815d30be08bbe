"""Shape of files: length, width, opening paragraph, and whether anything uses them."""

import os
import re

from tree import Finding

MAX_LINES = 450
MAX_WIDTH = 120
PROSE = (".md", ".txt", ".wrap", ".supp", "")


def size(tree):
    for file in tree.files.values():
        if file.path.startswith("subprojects/") or file.suffix in PROSE and file.name not in ("dev", "run"):
            continue
        lines = len(file.lines) - 1
        if lines > MAX_LINES and file.suffix != ".toml":
            yield Finding(file, lines, "length", f"{lines} lines, at most {MAX_LINES}: split it where the idea changes")
        for number, text in enumerate(file.lines, 1):
            if len(text) > MAX_WIDTH and "://" not in text:
                yield Finding(file, number, "width", f"{len(text)} characters, at most {MAX_WIDTH}")
                break


def whitespace(tree):
    for file in tree.files.values():
        if file.path.startswith("subprojects/"):
            continue
        for number, text in enumerate(file.lines, 1):
            if text != text.rstrip() and file.suffix != ".md" or "\t" in text and file.is_code:
                yield Finding(file, number, "whitespace", "blanks at the end of the line, or a tab")
                break
        if file.text and not file.text.endswith("\n"):
            yield Finding(file, len(file.lines), "whitespace", "end the file with a line end")


def opening(tree):
    """A header opens with a paragraph: what it solves, who owns it, which thread, what may not happen."""
    for file in tree.files.values():
        if file.suffix in (".hpp", ".h", ".cuh"):
            first = [line for line in file.lines[:3] if line.startswith("//")]
            words = sum(len(line.split()) - 1 for line in first)
            if not file.lines[0].startswith("//") or words < 6:
                yield Finding(file, 1, "opening", "open with a paragraph in // lines: what problem it solves, who owns "
                              "the object, on which thread it lives, what may not happen")
            if "#pragma once" not in file.text and "/pch/" not in file.path:
                yield Finding(file, 1, "opening", "#pragma once is missing")
        elif file.suffix == ".py" and not file.text.lstrip().startswith(('"""', "#!")):
            yield Finding(file, 1, "opening", 'open with a """paragraph""": what it checks or does')
        elif file.suffix == ".capnp" and "#" not in file.text[:400]:
            yield Finding(file, 1, "opening", "open with a paragraph in # lines: who sends this to whom, and when")


def dead(tree):
    """Sources are named in a meson.build above them, headers included or installed, scripts used."""
    builds = [file for file in tree.files.values() if file.name == "meson.build"]
    included = set()
    for file in tree.code():
        included.update(tree.resolve(file, name) for _, _, name in file.includes)
    named = set()
    for build in builds:
        folder = os.path.dirname(build.path)
        for word in re.findall(r"'([\w./-]+)'", build.text):
            named.add(os.path.normpath(os.path.join(folder, word)).replace(os.sep, "/"))
            named.add((folder, word))
    others = {f.path: f.text for f in tree.files.values() if f.suffix in (".py", ".build", "")}
    for file in tree.files.values():
        if file.suffix in (".cpp", ".cu", ".capnp"):
            stem = file.path[: -len(file.suffix)]
            # Tables of tests, modules and schemas give the name without its folder or ending.
            above = os.path.dirname(os.path.dirname(file.path))
            if named.isdisjoint((file.path, stem, stem.removesuffix("_test"), (above, os.path.basename(stem)))):
                yield Finding(file, 1, "dead", "no meson.build names it: build it or delete it")
        elif file.suffix in (".hpp", ".h", ".cuh") and file.path not in included:
            if file.path not in named and file.path + ".in" not in named:
                yield Finding(file, 1, "dead", "nothing includes it: use it or delete it")
        elif file.suffix == ".py":
            module = file.name[:-3]
            used = re.compile(rf"\b(import|from) {module}\b|{re.escape(file.name)}|['\"]{module}['\"]")
            if not any(used.search(text) for path, text in others.items() if path != file.path):
                yield Finding(file, 1, "dead", "no meson.build, script or module uses it")


RULES = (size, whitespace, opening, dead)

_GOOD = "// Counts beans for the harvest. Owned by the farmer, one thread, never empty.\n#pragma once\n"
SAMPLES = (
    (size, {"comm/a.cpp": "x;\n" * 451}, True),
    (size, {"comm/a.cpp": "x;\n" * 450}, False),
    (size, {"comm/a.cpp": "x" * 121 + "\n"}, True),
    (whitespace, {"comm/a.cpp": "x; \n"}, True),
    (whitespace, {"comm/a.cpp": "x;"}, True),
    (whitespace, {"comm/a.cpp": "x;\n"}, False),
    (opening, {"comm/a.hpp": "#pragma once\n"}, True),
    (opening, {"comm/a.hpp": "// beans\n#pragma once\n"}, True),
    (opening, {"comm/a.hpp": _GOOD}, False),
    (opening, {"tests/a.py": "import os\n"}, True),
    (dead, {"comm/a.cpp": "x;\n", "comm/meson.build": "files('b.cpp')\n"}, True),
    (dead, {"comm/a.cpp": "x;\n", "comm/meson.build": "files('a.cpp')\n"}, False),
    (dead, {"comm/a.cpp": "x;\n", "data/meson.build": "files('a.cpp')\n"}, True),
    (dead, {"comm/a.hpp": _GOOD, "comm/b.cpp": "x;\n", "comm/meson.build": "files('b.cpp')\n"}, True),
    (dead, {"comm/a.hpp": _GOOD, "comm/b.cpp": '#include "comm/a.hpp"\n', "comm/meson.build": "'b.cpp'\n"}, False),
    (dead, {"tests/tidy/a.py": '"""x"""\n', "tests/tidy/meson.build": "'b.py'\n"}, True),
)
