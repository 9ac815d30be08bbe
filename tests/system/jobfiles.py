"""Small job files for the test modules (tests/system/modules), written to the scratch directory of the test."""

import os
import re

import harness


def digits_data():
    """The [data] and [evaluation] lines of the shipped job, with paths that hold from any directory."""
    with open(harness.DIGITS, encoding="utf-8") as stream:
        text = stream.read()
    found = re.search(r"^\[data\]\n(.*?)(?=^\[)", text, re.MULTILINE | re.DOTALL).group(1)
    folder = os.path.dirname(harness.DIGITS)
    return re.sub(r'path\s*=\s*"([^"]+)"', lambda m: f'path = "{os.path.join(folder, m.group(1))}"', found)


class JobFiles(harness.SystemTest):
    def write(self, text, name="job.toml"):
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        return path

    def toml(self, module="flawed.so", job="", workers="", trainer="", more=""):
        return self.write(f"""[job]
module = "{os.path.join(harness.MODULES, module)}"
steps = 50
{job}
[workers]
virtual = 8
micro_batch = 8
{workers}
[data]
{digits_data()}
{more}
[trainer]
{trainer}
""")
