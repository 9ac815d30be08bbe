"""Style as a test: tidy.py ROOT GROUP runs one group of checks over the tree; tidy.py --self-test makes sure that each
check finds what it is there for. Findings are printed as file:line with what to write instead."""

import sys

import calls
import files
import rooms
import tree

GROUPS = {"rooms": rooms, "calls": calls, "files": files}


def check(root, group):
    sources = tree.load(root)
    findings = [finding for rule in GROUPS[group].RULES for finding in rule(sources)]
    for finding in sorted(findings, key=lambda one: (one.file.path, one.line)):
        print(finding)
    print(f"{len(sources.files)} files, {len(findings)} findings")
    return 1 if findings or not sources.code() else 0


def self_test():
    wrong = 0
    for name, group in GROUPS.items():
        sampled = {rule for rule, _, bad in group.SAMPLES if bad}
        for rule in group.RULES:
            if rule not in sampled:
                print(f"{name}: {rule.__name__} has no bad sample")
                wrong += 1
        for rule, texts, bad in group.SAMPLES:
            found = list(rule(tree.Tree([tree.File(path, text) for path, text in texts.items()])))
            if bool(found) != bad:
                print(f"{name}.{rule.__name__}: {'misses' if bad else 'wrongly finds'} {texts}")
                wrong += 1
    print(f"{sum(len(group.SAMPLES) for group in GROUPS.values())} samples, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1] == "--self-test" else check(sys.argv[1], sys.argv[2]))
