"""Adds up the JSON logs that 'meson test' leaves and prints what failed, then 'N passed, N failed, N skipped'."""

import json
import os
import sys


def main(paths):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    bad = []
    for path in paths:
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                test = json.loads(line)
                if test["result"] in ("OK", "EXPECTEDFAIL"):
                    counts["passed"] += 1
                elif test["result"] == "SKIP":
                    counts["skipped"] += 1
                else:
                    counts["failed"] += 1
                    bad.append(f"{test['result']:10} {test['duration']:7.1f} s  {test['name']}")
    for line in bad:
        print("failed:", line)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 0 if counts["failed"] == 0 and counts["passed"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
