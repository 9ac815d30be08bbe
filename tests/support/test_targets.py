"""Which tests of a build directory have their executable under the named folders of the build tree, tests/unit/comm
say: `targets` prints what ninja has to build for them, `names` what `meson test` calls them."""

import json
import os
import subprocess
import sys


def main(what, build, folders):
    told = subprocess.run(["meson", "introspect", "--tests", build], check=True, capture_output=True, text=True)
    root = os.path.abspath(build)
    names, targets = set(), set()
    for test in json.loads(told.stdout):
        own = [os.path.relpath(word, root) for word in test["cmd"] if word.startswith(root + os.sep)]
        if any(path.startswith(folder.rstrip("/") + "/") for path in own[:1] for folder in folders):
            names.add(test["name"])
            targets.update(path for path in own if "." not in os.path.basename(path) or path.endswith(".so"))
    for line in sorted(targets if what == "targets" else names):
        print(line)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
