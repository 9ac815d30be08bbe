#!/usr/bin/env python3
"""How long a job under torchrun stands still when a worker is killed: from SIGKILL to the end of the next training
step, which is what `troupe bench recovery` measures of Troupe. torchrun ends the whole group and starts it anew, so
each worker loads the last checkpoint, as its users write it. Prints {"default": [ms, ...], "monitor 0.1": [ms, ...],
"torch": version}; needs torch with gloo (Debian: python3-torch), no network but loopback.

This file is driver and worker. Workers tell of their steps through a named pipe that only the driver reads; they die
with torchrun, torchrun with the driver, and the driver with whoever started it."""

import argparse
import collections
import contextlib
import ctypes
import importlib.metadata
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

# Options of torchrun, and how often it looks after its workers then (newer versions: 0.1 s by default, too).
CASES = {"default": ([], 5.0), "monitor 0.1": (["--monitor_interval", "0.1"], 0.1)}
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WARM_STEPS = 100  # of a group, before one of it is killed
SAVE_STEPS = 50
KILL_WITHIN_S = 120.0
END_WITHIN_S = 20.0

# What a worker writes at the end of its first step, and rank 0 at the end of each: CLOCK_MONOTONIC at that time.
Step = collections.namedtuple("Step", "generation rank pid step ns")


class Failed(Exception):
    """The measurement did not come about; the text says why."""


def die_with_parent(number):
    """This process gets the signal when the one that started it ends."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, int(number))


# --- worker ----------------------------------------------------------------------------------------------------------

def open_as_worker(directory):
    """The pipe's end to write to. A worker whose torchrun has ended meanwhile stops here."""
    die_with_parent(signal.SIGKILL)
    with open(os.path.join(directory, "agent"), encoding="ascii") as stream:
        if os.getppid() != int(stream.read()):
            sys.exit("torchrun has ended")
    return os.open(os.path.join(directory, "steps"), os.O_WRONLY)


def train_step(torch, model, optimizer, workers):
    """One step on 64 made-up samples shaped like the digits; the mean gradient of all ranks is applied."""
    samples, labels = torch.randn(64 // workers or 1, 64), torch.randint(10, (64 // workers or 1,))
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(samples), labels).backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    flat = torch.nn.utils.parameters_to_vector(gradients)
    torch.distributed.all_reduce(flat)
    torch.nn.utils.vector_to_parameters(flat / workers, gradients)
    optimizer.step()


def work(directory):
    """Trains until it is killed, from the last checkpoint on if there is one."""
    pipe = open_as_worker(directory)
    import torch  # here, so that the driver need not
    import torch.distributed
    torch.distributed.init_process_group("gloo")
    rank, workers = torch.distributed.get_rank(), torch.distributed.get_world_size()
    generation = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    checkpoint = os.path.join(directory, "checkpoint.pt")
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    first = 0
    if os.path.exists(checkpoint):
        state = torch.load(checkpoint)
        first = state["step"]
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    torch.manual_seed(rank)
    step = first
    while True:
        train_step(torch, model, optimizer, workers)
        step += 1
        if rank == 0 or step == first + 1:
            told = Step(generation, rank, os.getpid(), step, time.monotonic_ns())
            os.write(pipe, (" ".join(map(str, told)) + "\n").encode())
        if rank == 0 and step % SAVE_STEPS == 0:
            torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()},
                       checkpoint + ".new")
            os.replace(checkpoint + ".new", checkpoint)


# --- driver ----------------------------------------------------------------------------------------------------------

class Torchrun:
    """One torchrun with its workers, in a directory of its own. Leaving the `with` ends them all."""

    def __init__(self, directory, options, workers):
        self.directory = directory
        self.workers = workers
        path = os.path.join(directory, "steps")
        os.mkfifo(path)
        self.pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.held = os.open(path, os.O_WRONLY)  # no end of file while there is no worker
        self.rest = b""  # of the pipe: no whole line yet
        self.told = collections.deque()
        self.first, self.pids = None, {}
        with open(os.path.join(directory, "words"), "wb") as words:
            self.agent = subprocess.Popen(
                [sys.executable, "-m", "torch.distributed.run", "--nnodes", "1", "--nproc_per_node", str(workers),
                 "--rdzv_backend", "c10d", "--rdzv_endpoint", "localhost:0", "--rdzv_id", "bench",
                 "--max_restarts", "1000000", "--log_dir", os.path.join(directory, "log"), "-r", "1", "-t", "2",
                 *options, os.path.abspath(__file__), "--worker", directory],
                env={**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL,
                stdout=words, stderr=words, preexec_fn=lambda: die_with_parent(signal.SIGKILL))
        with open(os.path.join(directory, "agent"), "w", encoding="ascii") as stream:
            stream.write(str(self.agent.pid))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        self.agent.kill()
        self.agent.wait(END_WITHIN_S)
        os.close(self.held)
        # To the end of file: each worker that held the pipe is gone.
        while select.select([self.pipe], [], [], END_WITHIN_S)[0] and os.read(self.pipe, 1 << 16):
            pass
        os.close(self.pipe)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)

    def read(self, deadline):
        """What came through the pipe."""
        while True:
            if self.agent.poll() is not None:
                raise Failed(f"torchrun ended with {self.agent.returncode}:\n{self.last_words()}")
            if time.monotonic() > deadline:
                raise Failed(f"no step was completed in time:\n{self.last_words()}")
            if select.select([self.pipe], [], [], 0.5)[0]:
                return os.read(self.pipe, 1 << 16)

    def next_step(self, deadline):
        """The next step that was told; `first` and `pids` are of its group from then on."""
        while not self.told:
            *lines, self.rest = (self.rest + self.read(deadline)).split(b"\n")
            self.told.extend(Step(*map(int, line.split())) for line in lines)
        step = self.told.popleft()
        if self.first is None or step.generation != self.first.generation:
            self.first, self.pids = step, {}
        self.pids[step.rank] = step.pid
        return step

    def last_words(self):
        with open(os.path.join(self.directory, "words"), "rb") as words:
            return words.read()[-2000:].decode("utf-8", "replace")


def kill_one(run, victim, phase_s):
    """Kills rank `victim` of a group that has run for at least `phase_s`; ms until a later group ends a step."""
    deadline = time.monotonic() + KILL_WITHIN_S
    warm = False
    while not (warm and len(run.pids) == run.workers):
        step = run.next_step(deadline)
        warm = step.step >= run.first.step + WARM_STEPS and step.ns >= run.first.ns + phase_s * 1e9
    generation = run.first.generation
    killed = time.monotonic_ns()
    os.kill(run.pids[victim], signal.SIGKILL)
    while step.generation == generation:
        step = run.next_step(deadline)
    return (step.ns - killed) / 1e6


def measure(directory, words, look_s, workers, kills):
    """Kills of one job. torchrun looks at its workers at fixed times after their start: the kills are spread evenly
    over the time between two looks, so that none of them is favoured."""
    os.mkdir(directory)
    with Torchrun(directory, words, workers) as run:
        return [kill_one(run, k % workers, look_s * (k + 0.5) / kills) for k in range(kills)]


def drive(options):
    """Measures each case and prints the object; the directory and all processes are gone afterwards."""
    die_with_parent(signal.SIGTERM)
    for number in ENDS:
        signal.signal(number, lambda got, _: sys.exit(128 + got))
    told = {}
    with tempfile.TemporaryDirectory(prefix="troupe-torchrun-", dir=options.dir) as directory:
        for n, (name, (words, look_s)) in enumerate(CASES.items()):
            times = measure(os.path.join(directory, str(n)), words, look_s, options.workers, options.kills)
            told[name] = [round(ms, 1) for ms in times]
    told["torch"] = importlib.metadata.version("torch")
    print(json.dumps(told))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=5, help="of each case")
    parser.add_argument("--dir", help="for temporary files")
    parser.add_argument("--worker", metavar="DIR", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        with contextlib.suppress(BrokenPipeError):
            work(options.worker)
        return
    try:
        drive(options)
    except Failed as failure:
        sys.exit(f"torchrun_recovery.py: {failure}")
    except importlib.metadata.PackageNotFoundError:
        sys.exit("torchrun_recovery.py: torch is not installed (Debian: python3-torch)")


if __name__ == "__main__":
    main()
