"""Prints the build targets (as ninja names them) of the tests in the named suites of a build directory."""

import json
import os
import subprocess
import sys


def main(build, suites):
    told = subprocess.run(["meson", "introspect", "--tests", build], check=True, capture_output=True, text=True)
    names = set()
    for test in json.loads(told.stdout):
        if {suite.split(":")[-1] for suite in test["suite"]} & set(suites):
            names.update(arg for arg in test["cmd"] if os.path.isabs(arg) and arg.startswith(os.path.abspath(build)))
            names.update(test.get("depends", []))
    for name in sorted(names):
        print(os.path.relpath(name, build) if os.path.isabs(name) else name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
