"""Soak: digits again and again with random failures from random seeds, until stopped, or until something differs;
then the scratch directory of that run is kept and its seed printed. Run by `./dev soak [SECONDS]`."""

import argparse
import random
import time
import unittest

import harness

PHASES = ("", " in gradient", " in reduce", " in update", " in snapshot")


class Soak(harness.SystemTest):
    seconds = 0.0

    def spec(self, draw):
        rank, step = draw.randrange(4), draw.randrange(5, 430)
        kind = draw.random()
        if kind < 0.7:
            return [f"kill worker {rank} at step {step}{draw.choice(PHASES)}"]
        if kind < 0.8:
            return [f"kill worker {rank} at step {step} in reduce",
                    f"kill worker {draw.randrange(4)} at step {step} in {draw.choice(('drain', 'restore'))}"]
        if kind < 0.88:
            return [f"stop worker {rank} at step {step} for {draw.choice(('200ms', '2s'))}"]
        if kind < 0.95:
            return [f"slow worker {rank} x{draw.randrange(2, 5)} from step {step} to {step + 20}"]
        return [f"nan worker {rank} at step {step}"]

    def test_random_failures_do_not_show(self):
        first, start, count = harness.seed(), time.monotonic(), 0
        digest = self.reference()
        while not self.seconds or time.monotonic() - start < self.seconds:
            seed = first + count
            draw = random.Random(seed)
            chaos = [spec for _ in range(draw.randrange(1, 9)) for spec in self.spec(draw)]
            settings = {"recovery__hold": draw.choice(("0s", "200ms"))}
            with self.subTest(seed=seed, chaos=chaos, **settings):
                job = self.job(f"run-{count}", chaos=chaos, **settings)
                result = job.run(seconds=120)
                if result.code == 3:  # a fault that was armed for a phase that never came
                    result.code = 0
                report = self.assert_finished(job, result, digest)
                print(f"seed {seed}: {len(report['failures'])} failures, {report['wall_s']:.1f} s, same digest",
                      flush=True)
                harness.shutil.rmtree(job.dir)
            self.jobs.clear()
            count += 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.0, help="0: until stopped")
    Soak.seconds = parser.parse_args().seconds
    unittest.main(argv=["soak"], verbosity=2)
