"""What /proc tells about the processes of one job: which there are (found by a tag in their environment), what they
hold, and what they leave behind. Reads only."""

import os

TAG = "TROUPE_TEST_TAG"


def _read(path):
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return b""


class Process:
    """One living process; everything is read afresh, and empty once it is gone."""

    def __init__(self, pid):
        self.pid = pid

    def command(self):
        return [part.decode("utf-8", "replace") for part in _read(f"/proc/{self.pid}/cmdline").split(b"\0")[:-1]]

    def role(self):
        """'run', 'master', 'node', 'worker', or the program's name."""
        words = self.command()
        if not words:
            return "gone"
        name = os.path.basename(words[0])
        if name == "troupe-worker":
            return "worker"
        return words[1] if name == "troupe" and len(words) > 1 else name

    def zombie(self):
        return b") Z " in _read(f"/proc/{self.pid}/stat")

    def descriptors(self):
        try:
            names = os.listdir(f"/proc/{self.pid}/fd")
        except OSError:
            return []
        found = []
        for name in names:
            try:
                found.append(os.readlink(f"/proc/{self.pid}/fd/{name}"))
            except OSError:
                continue
        return found

    def holdings(self):
        """Counts that must not grow over a long run."""
        text = _read(f"/proc/{self.pid}/status").decode()
        status = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        return {
            "descriptors": len(self.descriptors()),
            "threads": int(status.get("Threads", "0")),
            "mappings": _read(f"/proc/{self.pid}/maps").count(b"\n"),
            "resident_kib": int(status.get("VmRSS", "0 kB").split()[0]),
        }

    def waits(self):
        """One line per thread: name and where in the kernel it waits, for the report of a hanging test."""
        lines = []
        for task in sorted(os.listdir(f"/proc/{self.pid}/task")) if os.path.isdir(f"/proc/{self.pid}/task") else []:
            base = f"/proc/{self.pid}/task/{task}"
            lines.append(f"    {task} {_read(base + '/comm').decode().strip():16} {_read(base + '/wchan').decode()}")
        return lines


def tagged(tag):
    """Living processes whose environment carries the tag, oldest first."""
    wanted = f"{TAG}={tag}".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and wanted in _read(f"/proc/{name}/environ").split(b"\0"):
            process = Process(int(name))
            if not process.zombie():
                found.append(process)
    return sorted(found, key=lambda process: process.pid)


def kernel_objects():
    """Names outside any process that a job could leave: shared memory, abstract and named sockets, System V objects."""
    names = {"/dev/shm/" + name for name in os.listdir("/dev/shm")} if os.path.isdir("/dev/shm") else set()
    for line in _read("/proc/net/unix").decode("utf-8", "replace").splitlines()[1:]:
        words = line.split()
        if len(words) > 7 and "troupe" in words[7]:
            names.add("unix socket " + words[7])
    for kind in ("shm", "sem", "msg"):
        for line in _read(f"/proc/sysvipc/{kind}").decode().splitlines()[1:]:
            names.add(f"System V {kind} " + " ".join(line.split()[:2]))
    return names
