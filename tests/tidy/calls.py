"""Calls and words that must not appear, each with what to write instead."""

import re

from tree import Finding

CXX = r"\.(hpp|cpp|cu|cuh|h)$"
EVERYWHERE = r"^(?!subprojects/)"

# (rule, files by path, pattern in code without comments and strings, instead)
PATTERNS = (
    ("sleep", CXX, r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|(?<![\w.>:])sleep\s*\(",
     "wait for the event itself with a deadline (poll, futex, condition variable, delayed message)"),
    ("random", CXX,
     r"(?<![\w.>:])s?rand\s*\(|\bstd::rand\b|\b(random_device|mt19937(_64)?|random_shuffle|drand48)\b",
     "troupe::Random with a key (base/troupe/random.hpp)"),
    ("process", CXX, r"(?<![\w.>])(std::)?system\s*\(\s*\"|\bstd::system\b|\bpopen\s*\(",
     "fork and exec with an argument list: no shell sees the text"),
    ("string", CXX, r"\b(strcpy|strcat|sprintf|vsprintf|gets)\s*\(", "std::string or fmt::format_to_n"),
    ("assert", CXX, r"(?<![\w_])assert\s*\(|#\s*include\s*<cassert>",
     "TROUPE_ASSERT (base/assert.hpp): on in every build"),
    ("print", r"^(base|comm|data|checkpoint|actors|sim)/.*" + CXX,
     r"\bstd::(cout|cerr|clog)\b|(?<![\w:.>])(printf|puts|putchar)\s*\(|\bfmt::print\s*\(",
     "log() (base/log.hpp), or return the text: only cli/ and bench/ talk to the terminal"),
    ("infinite", CXX, r"\bcaf::infinite\b|(?<![\w:])infinite\b(?=\s*,)",
     "a finite timeout: a request to a proxy whose node died is never answered"),
    ("caf-version", r"^(?!.*/caf_compat\.hpp$).*" + CXX, r"\bCAF_(MAJOR_|MINOR_|PATCH_)?VERSION\b",
     "a name from caf_compat.hpp, the one file that knows CAF's version"),
    ("clock", r"^(?!base/clock).*" + CXX, r"\b(system_clock|steady_clock|high_resolution_clock|gettimeofday)\b",
     "monotonic_now() or wall_clock_ns() (base/clock.hpp); kernels get `now`"),
    ("detach", CXX, r"[.>]detach\s*\(\s*\)", "a thread that its owner joins"),
    ("using-namespace", r"\.(hpp|h|cuh)$", r"\busing\s+namespace\b",
     "names, spelled out: a header speaks for its users too"),
    ("py-sleep", r"\.py$", r"\btime\.sleep\s*\(",
     "harness.wait_until (or a wait of the process itself) with a deadline"),
    ("py-shell", r"\.py$", r"shell\s*=\s*True|\bos\.system\s*\(", "an argument list"),
)
# In the whole text, comments included. The words are put together so that this file passes its own check.
WORDS = (
    ("mark", EVERYWHERE, r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b",
     "do it, or say in a sentence what is missing and why that is right for now"),
    ("machine-path", EVERYWHERE, r"(?<![\w.~$}\)/])/(work|" + "farm|root|home|Users)/",
     "a path relative to the tree, or one from the environment"),
)


def calls(tree):
    for file in tree.files.values():
        for rule, where, pattern, instead in PATTERNS:
            if not re.search(where, file.path):
                continue
            compiled = re.compile(pattern)
            for number, text in enumerate(file.code_lines, 1):
                if found := compiled.search(text):
                    if not file.allows(number, rule):
                        yield Finding(file, number, rule, f"'{found.group(0).strip()}': use {instead}")


def words(tree):
    for file in tree.files.values():
        for rule, where, pattern, instead in WORDS:
            if not re.search(where, file.path):
                continue
            compiled = re.compile(pattern)
            for number, text in enumerate(file.lines, 1):
                if (found := compiled.search(text)) and not file.allows(number, rule):
                    yield Finding(file, number, rule, f"'{found.group(0).strip()}': {instead}")


def float_messages(tree):
    """CAF 0.17 loses infinities and changes NaNs: no floating-point type in anything it serialises."""
    speaks_caf = re.compile(r"\binspect\s*\(|\bCAF_ADD_TYPE_ID\b|\btyped_actor\s*<")
    number_type = re.compile(r"\b(float|double)\b")
    for file in tree.code():
        if file.room not in ("actors", "cli") or not speaks_caf.search(file.code):
            continue
        for line, text in enumerate(file.code_lines, 1):
            if number_type.search(text) and not file.allows(line, "float-message"):
                yield Finding(file, line, "float-message", "a floating-point type in a file with CAF messages: carry "
                              "it in a Cap'n Proto body, or as its bits in an integer")


def unordered_iteration(tree):
    """A loop over an unordered container has another order on another library: no decision may hang on it."""
    declared = re.compile(r"\bunordered_(?:map|set|multimap|multiset)\s*<[^;{}()]*>\s*&?\s*(\w+)\s*[;{=,)]")
    loop = re.compile(r"\bfor\s*\([^;)]*:\s*\*?(?:this->)?(\w+)\s*\)")
    for file in tree.code():
        own = tree.files.get(file.path[: -len(file.suffix)] + ".hpp")
        names = set(declared.findall(file.code)) | (set(declared.findall(own.code)) if own else set())
        if not names:
            continue
        for number, text in enumerate(file.code_lines, 1):
            found = loop.search(text)
            if found and found.group(1) in names and not file.allows(number, "unordered"):
                yield Finding(file, number, "unordered", f"iterates the unordered container '{found.group(1)}': use "
                              "std::map, or sort the keys first")


RULES = (calls, words, float_messages, unordered_iteration)


def _one(text, path="comm/a.cpp"):
    return {path: text + "\n"}


SAMPLES = (
    (calls, _one("std::this_thread::sleep_for(1ms);"), True),
    (calls, _one("usleep(10);", "tests/unit/comm/a_test.cpp"), True),
    (calls, _one("  sleep(1);"), True),
    (calls, _one("going_to_sleep(1);"), False),
    (calls, _one("int x = rand();"), True),
    (calls, _one("int x = operand(1);"), False),
    (calls, _one("std::random_device d;"), True),
    (calls, _one("auto r = std::system(command);"), True),
    (calls, _one("caf::actor_system system(config);"), False),
    (calls, _one("strcpy(a, b);"), True),
    (calls, _one("snprintf(a, 3, b);"), False),
    (calls, _one("assert(x);"), True),
    (calls, _one("static_assert(x);"), False),
    (calls, _one("TROUPE_ASSERT(x, \"\");"), False),
    (calls, _one("std::cout << 1;", "actors/a.cpp"), True),
    (calls, _one("std::cout << 1;", "cli/a.cpp"), False),
    (calls, _one("self->request(other, caf::infinite, x);", "actors/a.cpp"), True),
    (calls, _one("#if CAF_VERSION < 1800", "actors/a.cpp"), True),
    (calls, _one("#if CAF_VERSION < 1800", "actors/caf_compat.hpp"), False),
    (calls, _one("auto t = std::chrono::steady_clock::now();"), True),
    (calls, _one("// sleep_for is banned"), False),
    (calls, _one('log("do not usleep(3)");'), False),
    (calls, _one("usleep(1); // tidy: allow(sleep) the sample"), False),
    (calls, _one("using namespace std;", "comm/a.hpp"), True),
    (calls, _one("worker.detach();"), True),
    (calls, _one("time.sleep" + "(1)", "tests/system/a.py"), True),
    (words, _one("// TO" + "DO: later"), True),
    (words, _one("see /ho" + "me/someone/x", "docs/a.md"), True),
    (words, _one("see /tmp/x and a/home/b and /workspace", "docs/a.md"), False),
    (float_messages, _one("struct M { double x; };\ntemplate <class I> bool inspect(I&, M&);", "actors/m.hpp"), True),
    (float_messages, _one("using A = caf::typed_actor<caf::result<void>(float)>;", "actors/protocol.hpp"), True),
    (float_messages, _one("struct M { double x; };", "actors/m.hpp"), False),
    (unordered_iteration, _one("std::unordered_map<int, int> table_;\nfor (auto& [k, v] : table_)"), True),
    (unordered_iteration, _one("std::map<int, int> table_;\nfor (auto& [k, v] : table_)"), False),
)
