"""System tests start the real command and kill real processes. A Job is a scratch directory, a job file and the words
of its command line; run() waits for it with a deadline and checks what must hold after every run whatever it was: the
processes are gone, nothing is left behind, and the event log gives the same decisions when it is replayed.

    TROUPE_BIN    the command                      (default: build/release/troupe)
    TROUPE_SEED   seed of the random tests         (printed by each of them)
    TROUPE_KEEP   keep the scratch directories     (those of failed tests are always kept)
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid

import processes

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BIN = os.path.abspath(os.environ.get("TROUPE_BIN", os.path.join(ROOT, "build/release/troupe")))
MODULES = os.path.abspath(os.environ.get("TROUPE_TEST_MODULES",
                                         os.path.join(ROOT, "build/release/tests/system/modules")))
DIGITS = os.path.join(ROOT, "examples/digits/digits.toml")
TRAIN = 1440  # samples of the digits' training part
BATCH = 64    # V x micro_batch
# Under sanitizers or on a busy machine everything takes longer.
PATIENCE = float(os.environ.get("TROUPE_PATIENCE", "1"))

_never = threading.Event()


def wait_until(condition, what, seconds=20.0, every=0.005):
    """Polls condition() until it is true and returns its value; fails with `what` at the deadline."""
    end = time.monotonic() + seconds * PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            raise AssertionError(f"waited {seconds * PATIENCE:.0f} s in vain for {what}")
        _never.wait(every)


def pause(seconds):
    """Lets time pass, so that a fault lands at another moment each time; never to wait for something."""
    _never.wait(seconds)


def seed():
    """The seed of this run; printed, so that a failure can be had again with TROUPE_SEED."""
    value = int(os.environ.get("TROUPE_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"TROUPE_SEED={value}", flush=True)
    return value


def read_text(path):
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read()


class Result:
    """What a finished command left: exit status, its words, the report."""

    def __init__(self, code, out, err, report):
        self.code, self.out, self.err, self.report = code, out, err, report

    def tail(self, lines=40):
        return "\n".join((self.out + "\n" + self.err).strip().splitlines()[-lines:])


def command(*words, program=None, seconds=60.0, **more):
    """Runs the command (or another program) to its end, without a terminal."""
    done = subprocess.run([program or BIN, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=seconds * PATIENCE, check=False, **more)
    return Result(done.returncode, done.stdout, done.stderr, None)


class Job:
    """One job in a scratch directory of its own."""

    def __init__(self, scratch, name="job", file=DIGITS, workers=4, epochs=20, chaos=(), **settings):
        self.scratch, self.name = scratch, name
        self.dir = os.path.join(scratch, name)
        self.tag = uuid.uuid4().hex
        self.temp = os.path.join(scratch, name + ".tmp")
        os.makedirs(self.temp, exist_ok=True)
        self.report = os.path.join(scratch, name + ".json")
        self.events = os.path.join(scratch, name + ".events")
        self.words = ["run", file, "--report", self.report, "--events", self.events, "--set", "job.dir=" + self.dir]
        if workers:
            self.words += ["--workers", str(workers)]
        if epochs:
            self.words += ["--set", f"job.epochs={epochs}"]
        for key, value in settings.items():
            text = value if isinstance(value, str) else json.dumps(value)
            self.words += ["--set", f"{key.replace('__', '.')}={text}"]
        for spec in chaos:
            self.words += ["--chaos", spec]
        self.process = None
        self.before = processes.kernel_objects()

    def environment(self):
        return dict(os.environ, TMPDIR=self.temp, **{processes.TAG: self.tag})

    def start(self, *more):
        """Starts the command in a process group of its own, with no terminal."""
        for path in (self.report, self.events):
            if os.path.exists(path):
                os.remove(path)
        self.out_path, self.err_path = (os.path.join(self.scratch, f"{self.name}.{kind}") for kind in ("out", "err"))
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen([BIN, *self.words, *more], stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=err, cwd=self.scratch, env=self.environment(),
                                            start_new_session=True)
        return self

    def out(self):
        return read_text(self.out_path)

    def err(self):
        return read_text(self.err_path)

    def living(self, role=None):
        return [one for one in processes.tagged(self.tag) if role is None or one.role() == role]

    def running(self):
        return self.process.poll() is None

    def finish(self, seconds=60.0):
        """Waits for the command; at the deadline tells who waits where, ends everything and fails."""
        try:
            code = self.process.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            story = self.story()
            self.kill_all()
            raise AssertionError(f"still running after {seconds * PATIENCE:.0f} s\n{story}") from None
        report = None
        if os.path.exists(self.report):
            with open(self.report, encoding="utf-8") as stream:
                report = json.load(stream)
        return Result(code, self.out(), self.err(), report)

    def run(self, *more, seconds=60.0):
        return self.start(*more).finish(seconds)

    def story(self):
        lines = [f"command: {' '.join(self.words)}"]
        for one in self.living():
            lines += [f"  {one.pid} {one.role()} {' '.join(one.command())[:160]}", *one.waits()]
        for path in (self.out_path, self.err_path, *self.logs()):
            lines += [f"  --- {os.path.relpath(path, self.scratch)}", *read_text(path).splitlines()[-15:]]
        return "\n".join(lines)

    def logs(self):
        folder = os.path.join(self.dir, "logs")
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))] if os.path.isdir(folder) else []

    def kill_all(self, number=signal.SIGKILL):
        """Every process of the job at once; again until none is left, since one may be forking."""
        while found := self.living():
            for one in found:
                try:
                    os.kill(one.pid, number)
                except ProcessLookupError:
                    pass
            _never.wait(0.01)
        if self.process:
            self.process.wait()

    # --- looking and steering while it runs ---

    def control(self, *words, seconds=15.0):
        return command(*words, "--dir", self.dir, cwd=self.scratch, env=self.environment(), seconds=seconds)

    def status(self):
        """What `troupe status --json` says, or None while there is nobody to ask."""
        told = self.control("status", "--json")
        return json.loads(told.out) if told.code == 0 else None

    def wait_for_step(self, step, seconds=30.0):
        def reached():
            if not self.running():
                raise AssertionError(f"the job ended before step {step}\n{self.story()}")
            status = self.status()
            return status if status and status["step"] >= step else None
        return wait_until(reached, f"step {step}", seconds, every=0.02)

    def lines(self, pattern):
        """What the screen showed so far; it goes to standard error when the output is for programs."""
        return re.findall(pattern, self.out() + self.err(), re.MULTILINE)

    # --- what must hold afterwards ---

    def leftovers(self):
        """Whatever of the job is still there though its command has ended."""
        left = [f"process {one.pid} {one.role()}" for one in self.living()]
        left += [f"temporary file {name}" for name in os.listdir(self.temp)]
        run = os.path.join(self.dir, "run")
        left += [f"run file {name}" for name in (os.listdir(run) if os.path.isdir(run) else ())]
        left += sorted(processes.kernel_objects() - self.before)
        for folder, _, names in os.walk(self.dir):
            left += [f"half-written {os.path.join(folder, name)}" for name in names
                     if re.search(r"\.(tmp|part|new)$", name)]
        return left


class SystemTest(unittest.TestCase):
    """A scratch directory per test, removed when the test passes; every job of the test is cleared away at the end."""

    maxDiff = 2000

    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="troupe-test-")
        self.jobs = []

    def tearDown(self):
        for job in self.jobs:
            job.kill_all()
        failed = any(problem for _, problem in self._outcome_errors())
        if failed or os.environ.get("TROUPE_KEEP"):
            print(f"{self.id()}: kept {self.scratch}", flush=True)
        else:
            shutil.rmtree(self.scratch, ignore_errors=True)

    def _outcome_errors(self):
        result = getattr(self._outcome, "result", None)
        problems = list(getattr(result, "errors", ())) + list(getattr(result, "failures", ()))
        return [(test, text) for test, text in problems if test is self or getattr(test, "test_case", None) is self]

    def job(self, *args, **settings):
        job = Job(self.scratch, *args, **settings)
        self.jobs.append(job)
        return job

    def assert_code(self, result, wanted):
        self.assertEqual(result.code, wanted, f"exit status {result.code}, wanted {wanted}\n{result.tail()}")

    def assert_nothing_left(self, job):
        """Ended processes need a moment to be reaped by their parent; nothing else may be late."""
        try:
            wait_until(lambda: not job.leftovers(), "a clean end", 5.0)
        except AssertionError:
            self.fail("left behind: " + "; ".join(job.leftovers()) + "\n" + job.story())

    def assert_replays(self, job):
        """The event log, replayed through the kernels, gives the same decisions."""
        told = command("replay", job.events)
        self.assertEqual(told.code, 0, f"troupe replay {job.events}\n{told.tail()}")

    def assert_finished(self, job, result, digest=None, epochs=20):
        """A whole run, with whatever failures: every promise that does not depend on them."""
        self.assert_code(result, 0)
        report = result.report
        self.assertEqual(report["result"], "done")
        steps = epochs * TRAIN // BATCH
        self.assertEqual(report["steps"], steps)
        self.assertEqual(report["samples_by_count"], {"1": TRAIN * epochs})
        if digest is not None:
            self.assertEqual(report["model_digest"], digest, f"another model than undisturbed\n{result.tail()}")
        goodput = dict(report["goodput"])
        total = goodput.pop("total", None)
        if total is not None:
            self.assertAlmostEqual(sum(goodput.values()), total, delta=0.01 * total + 0.01)
        for failure in report["failures"]:
            phases = dict(failure["ms"])
            whole = phases.pop("total")
            self.assertTrue(all(value >= 0 for value in phases.values()), failure)
            self.assertAlmostEqual(sum(phases.values()), whole, delta=0.01 * whole + 1.0, msg=str(failure))
        self.assert_nothing_left(job)
        self.assert_replays(job)
        return report

    def run_whole(self, name, digest=None, epochs=20, seconds=60.0, **settings):
        job = self.job(name, epochs=epochs, **settings)
        return self.assert_finished(job, job.run(seconds=seconds), digest, epochs)

    _references = {}

    def reference(self, epochs=20):
        """Digest of an undisturbed run with four workers, made once per test program."""
        if epochs not in SystemTest._references:
            report = self.run_whole(f"reference-{epochs}", epochs=epochs)
            self.assertEqual(report["failures"], [])
            SystemTest._references[epochs] = report["model_digest"]
        return SystemTest._references[epochs]


def main():
    if not os.access(BIN, os.X_OK):
        print(f"{BIN} is missing: run ./dev build", file=sys.stderr)
        sys.exit(99)
    unittest.main(verbosity=2, failfast=False)
