"""Checkpoints are plain HDF5: h5py and h5dump find names, shapes and values, and the JSON twin is JSON. Skipped (exit
77) when neither reader is installed."""

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile

EXPECTED = {
    "f32": [[0, 0.5, 1], [1.5, 2, -2.5]],
    "deep/er/f64": 0.1,
    "f16": [1, -2.5],
    "bf16": [1, -2.5],
    "i32": [-1, 7],
    "i64": [1 << 40],
    "u8": [1, 2, 255],
    "empty": [],
}

H5PY = """
import h5py, json, sys
with h5py.File(sys.argv[1], "r") as f:
    values = {n: f[n][()].tolist() for n in json.loads(sys.argv[2])}
    print(json.dumps([values, int(f.attrs["step"]), list(f["empty"].shape), bytes(f.attrs["job"]).decode()]))
"""


def python_with_h5py():
    """The interpreter that runs this, or the system's, whose packages may differ."""
    if importlib.util.find_spec("h5py"):
        return sys.executable
    system = "/usr/bin/python3"
    found = shutil.which(system) and subprocess.run([system, "-c", "import h5py"], capture_output=True).returncode == 0
    return system if found else None


def main():
    python, h5dump = python_with_h5py(), shutil.which("h5dump")
    with tempfile.TemporaryDirectory() as folder:
        stem = subprocess.run([sys.argv[1], folder], check=True, capture_output=True, text=True).stdout.strip()
        twin = json.load(open(stem + ".json"))
        assert twin["step"] == "42" and twin["job"] == "sample", twin
        assert sorted(p["name"] for p in twin["pieces"]) == sorted(EXPECTED), twin
        if python:
            out = subprocess.run([python, "-c", H5PY, stem + ".h5", json.dumps(list(EXPECTED))], check=True,
                                 capture_output=True, text=True).stdout
            values, step, empty, job = json.loads(out)
            assert values == EXPECTED, values
            assert step == 42 and empty == [0, 4] and job == "sample", out
        if h5dump:
            out = subprocess.run([h5dump, "-d", "/bf16", stem + ".h5"], check=True, capture_output=True,
                                 text=True).stdout
            assert "1, -2.5" in out, out
    if not python and not h5dump:
        print("skipped: neither h5py nor h5dump is installed")
        return 77
    print("read by " + " and ".join(name for name, there in (("h5py", python), ("h5dump", h5dump)) if there))
    return 0


if __name__ == "__main__":
    sys.exit(main())
