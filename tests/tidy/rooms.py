"""Which room may include which, which third-party headers may appear where, and what kernels must not know."""

import re

from tree import Finding

# Room -> rooms whose headers it may include, besides its own.
ALLOWED = {
    "base": (),
    "comm": ("base",),
    "data": ("base",),
    "checkpoint": ("base",),
    "actors/kernel": ("base",),
    "actors": ("base", "comm", "data", "checkpoint", "actors/kernel"),
    "sim": ("base", "actors/kernel"),
    "cli": ("base", "comm", "data", "checkpoint", "actors/kernel", "actors", "sim", "bench"),
    "bench": ("base", "comm", "data", "checkpoint", "actors/kernel", "actors", "sim", "cli"),  # part of the command
    "examples": ("base", "actors"),  # and there only headers called troupe/...
}
# Third-party family -> (start of the include, files that may use it). fmt and tl::expected may be used by all.
FAMILIES = {
    "CAF": (r"caf/", r"^(actors/(?!kernel/)|cli/|bench/|tests/)"),
    "Cap'n Proto": (r"(capnp|kj)/|.*\.capnp\.h$",
                    r"^(actors/(?!kernel/)|cli/|data/record|checkpoint/manifest|bench/|tests/|examples/)"),
    "HDF5": (r"hdf5", r"^(checkpoint/hdf5|tests/)"),
    "CUDA and NCCL": (r"(cuda|nccl)", r"^(comm/nccl_|.*\.cuh?$)"),
    "CLI11": (r"CLI/", r"^cli/"),
    "toml11": (r"toml(\.hpp|/)", r"^(cli/|sim/)"),
    "zlib": (r"zlib\.h", r"^data/.*\.cpp$|^tests/"),
    "xxHash": (r"xxhash\.h", r"^base/checksum"),
    "Boost": (r"boost/", r"^tests/"),
}
# What may stand in a header that another room includes.
IN_PUBLIC_HEADERS = {"actors": ("CAF", "Cap'n Proto")}

KERNEL_ROOMS = ("actors/kernel",)
IMPURE_HEADERS = {
    "thread", "mutex", "shared_mutex", "condition_variable", "atomic", "future", "fstream", "iostream", "filesystem",
    "random", "ctime", "unordered_map", "unordered_set", "unistd.h", "fcntl.h", "time.h", "pthread.h", "signal.h",
}


def family(name):
    for title, (pattern, _) in FAMILIES.items():
        if re.match(pattern, name):
            return title
    return None


def direction(tree):
    """Includes go down the list of rooms only."""
    for file in tree.code():
        if file.room not in ALLOWED:
            continue
        for line, kind, name in file.includes:
            path = tree.resolve(file, name)
            if path is None or file.allows(line, "direction"):
                continue
            room = tree.files[path].room
            if room == file.room:
                continue
            if room not in ALLOWED[file.room]:
                below = ", ".join(ALLOWED[file.room]) or "nothing"
                yield Finding(file, line, "direction", f"{file.room or 'the root'} includes {path}; it may include "
                              f"{below}. Move the shared part down, or the user of it up")
            elif file.room == "examples" and "/troupe/" not in path:
                yield Finding(file, line, "direction", f"examples use installed headers <troupe/...> only, not {path}")


def families(tree):
    """A third-party header stays in the files made for it."""
    for file in tree.code():
        for line, kind, name in file.includes:
            if tree.resolve(file, name) is not None:
                continue
            title = family(name)
            if title and not re.search(FAMILIES[title][1], file.path) and not file.allows(line, "families"):
                yield Finding(file, line, "families", f"{title} ({name}) does not belong here; files that may use it: "
                              f"{FAMILIES[title][1]}. Hide it behind a function or a pimpl there")


def leaks(tree):
    """A header that another room includes shows no third-party header, directly or through others of its room."""
    public = {}
    for file in tree.code():
        for line, kind, name in file.includes:
            path = tree.resolve(file, name)
            if path and tree.files[path].room not in (file.room, ""):
                public.setdefault(path, file.path)
    pending = sorted(public)
    while pending:
        file = tree.files[pending.pop()]
        for line, kind, name in file.includes:
            path = tree.resolve(file, name)
            if path:
                if path not in public and tree.files[path].room == file.room:
                    public[path] = public[file.path]
                    pending.append(path)
                continue
            title = family(name)
            if title and title not in IN_PUBLIC_HEADERS.get(file.room, ()) and not file.allows(line, "leaks"):
                if file.room in ("tests", "bench", "cli"):
                    continue
                yield Finding(file, line, "leaks", f"{title} ({name}) leaks to {public[file.path]} through this "
                              "header; include it in the .cpp and use a pimpl or a forward declaration")


def purity(tree):
    """Kernels: no CAF, capnp, I/O, clock, thread, random number, unordered container."""
    clock = re.compile(r"\b(monotonic_now|wall_clock_ns|system_clock|steady_clock)\b")
    for file in tree.code():
        if file.room not in KERNEL_ROOMS:
            continue
        for line, kind, name in file.includes:
            if tree.resolve(file, name) is None and (name in IMPURE_HEADERS or name.startswith("sys/")):
                if not file.allows(line, "purity"):
                    yield Finding(file, line, "purity", f"<{name}> in a kernel; state and events carry what it decides "
                                  "on (ordered containers instead of unordered ones)")
        for number, text in enumerate(file.code_lines, 1):
            if clock.search(text) and not file.allows(number, "purity"):
                yield Finding(file, number, "purity", "a kernel reads no clock: `now` is an argument of on()")


def own_header_first(tree):
    """x.cpp includes x.hpp before anything else."""
    for file in tree.code():
        if file.suffix not in (".cpp", ".cu"):
            continue
        own = file.path[: -len(file.suffix)] + ".hpp"
        if own not in tree.files:
            continue
        if not file.includes or tree.resolve(file, file.includes[0][2]) != own:
            line = file.includes[0][0] if file.includes else 1
            yield Finding(file, line, "own-header", f'include "{own}" first')


RULES = (direction, families, leaks, purity, own_header_first)

# (rule, {path: text}, whether it must be found)
SAMPLES = (
    (direction, {"comm/a.cpp": '#include "data/b.hpp"\n', "data/b.hpp": "// x\n"}, True),
    (direction, {"base/a.cpp": '#include "comm/b.hpp"\n', "comm/b.hpp": "// x\n"}, True),
    (direction, {"sim/a.cpp": '#include "actors/b.hpp"\n', "actors/b.hpp": "// x\n"}, True),
    (direction, {"examples/e/a.cpp": '#include "actors/b.hpp"\n', "actors/b.hpp": "// x\n"}, True),
    (direction, {"examples/e/a.cpp": "#include <troupe/b.hpp>\n", "actors/troupe/b.hpp": "// x\n"}, False),
    (direction, {"actors/a.cpp": '#include "comm/b.hpp"\n', "comm/b.hpp": "// x\n"}, False),
    (direction, {"base/a.cpp": '// #include "comm/b.hpp"\n', "comm/b.hpp": "// x\n"}, False),
    (families, {"comm/a.cpp": "#include <caf/all.hpp>\n"}, True),
    (families, {"actors/kernel/a.cpp": "#include <capnp/message.h>\n"}, True),
    (families, {"data/reader.cpp": "#include <hdf5.h>\n"}, True),
    (families, {"checkpoint/hdf5_file.cpp": "#include <hdf5.h>\n"}, False),
    (families, {"actors/a.cpp": '#include "schema/facts.capnp.h"\n'}, False),
    (leaks, {"checkpoint/a.hpp": "#include <hdf5.h>\n", "actors/a.cpp": '#include "checkpoint/a.hpp"\n'}, True),
    (leaks, {"data/a.hpp": '#include "data/b.hpp"\n', "data/b.hpp": "#include <zlib.h>\n",
             "actors/a.cpp": '#include "data/a.hpp"\n'}, True),
    (leaks, {"data/a.hpp": "#include <zlib.h>\n", "data/a.cpp": '#include "data/a.hpp"\n'}, False),
    (leaks, {"actors/a.hpp": "#include <caf/all.hpp>\n", "cli/a.cpp": '#include "actors/a.hpp"\n'}, False),
    (purity, {"actors/kernel/a.hpp": "#include <thread>\n"}, True),
    (purity, {"actors/kernel/a.hpp": "#include <unordered_map>\n"}, True),
    (purity, {"actors/kernel/a.cpp": "Time t = monotonic_now();\n"}, True),
    (purity, {"actors/kernel/a.cpp": "// monotonic_now() is not for us\n"}, False),
    (purity, {"actors/kernel/a.hpp": "#include <map>\n"}, False),
    (own_header_first, {"comm/a.cpp": '#include <vector>\n#include "comm/a.hpp"\n', "comm/a.hpp": "// x\n"}, True),
    (own_header_first, {"comm/a.cpp": '#include "comm/a.hpp"\n#include <vector>\n', "comm/a.hpp": "// x\n"}, False),
)
