"""Plain errors: one clear message, the right exit status, nothing left behind, and no restart loop for what cannot
heal."""

import os
import shutil
import subprocess
import unittest

import harness
from jobfiles import JobFiles


class Errors(JobFiles):
    def refused(self, file, code, *words, workers=2, seconds=20.0, **settings):
        """Runs a job that must fail, and checks status, message and cleanliness."""
        job = self.job("refused", file=file, workers=workers, epochs=None, **settings)
        result = job.run(seconds=seconds)
        self.assert_code(result, code)
        for word in words:
            self.assertIn(word, result.out + result.err)
        self.assertLess(len(result.err.splitlines()), 40, f"one clear message, not a flood\n{result.err}")
        self.assertNotRegex(result.err, r"terminate called|Segmentation|core dumped|\[ERROR\]")
        self.assert_nothing_left(job)
        return result

    # --- what the command line and the file can be wrong in: exit 2 before any process is started ---

    def test_a_missing_job_file(self):
        self.refused(os.path.join(self.scratch, "nowhere.toml"), 2, "nowhere.toml", "No such file")

    def test_bad_toml_is_told_with_its_line(self):
        self.refused(self.write("[job]\nmodule = \"x.so\"\nsteps = = 3\n", "bad.toml"), 2, "bad.toml:3")

    def test_an_unknown_key_suggests_the_nearest(self):
        self.refused(self.toml(workers="virtal = 8"), 2, "job.toml:8", "virtal", "did you mean 'virtual'?")

    def test_an_unknown_trainer_key_suggests_the_nearest(self):
        self.refused(self.toml(trainer='flow = "none"'), 1, "flow", "did you mean 'flaw'?")

    def test_more_workers_at_least_than_at_most(self):
        self.refused(self.toml(workers="min = 4\nmax = 2"), 2, "min", "max", workers=None)

    def test_a_missing_module(self):
        self.refused(self.toml("nowhere.so"), 2, "nowhere.so")

    def test_a_broken_module(self):
        broken = self.write("no library at all", "broken.so")
        self.refused(self.toml(broken), 2, "broken.so")

    def test_a_library_without_a_trainer(self):
        self.refused(self.toml("no_trainer.so"), 2, "no_trainer.so", "TROUPE_TRAINER")

    def test_a_module_built_against_another_version(self):
        self.refused(self.toml("other_version.so"), 2, "other_version.so", "99.0.0")

    def test_missing_data_tell_how_to_get_them(self):
        self.refused(harness.DIGITS, 2, "nowhere.csv.gz", data__path=os.path.join(self.scratch, "nowhere.csv.gz"))

    def test_a_batch_of_thousands_of_epochs(self):
        self.refused(harness.DIGITS, 2, "workers.micro_batch", "1440 rows", workers__micro_batch=16000000)

    # --- what only shows when it runs: exit 1, the first cause first ---

    def test_a_trainer_that_throws_in_build_is_not_restarted(self):
        result = self.refused(self.toml(trainer='flaw = "build throws"'), 1, "the flaw of build", "build")
        self.assertEqual(result.report["result"], "failed")
        self.assertIn("the flaw of build", result.report["cause"])
        self.assertEqual(result.report["steps"], 0)

    def test_a_trainer_that_always_throws_in_update_ends_the_job_within_its_budget(self):
        result = self.refused(self.toml(trainer='flaw = "update throws"'), 1, "the flaw of update", seconds=40)
        self.assertIn("the flaw of update", result.report["cause"])
        self.assertLessEqual(len(result.report["failures"]), 2 * 4)

    def test_a_trainer_that_always_throws_in_gradient_ends_the_job_within_its_budget(self):
        self.refused(self.toml(trainer='flaw = "gradient throws"'), 1, "the flaw of gradient", seconds=40)

    def test_an_existing_job_is_not_overwritten(self):
        job = self.job("twice", epochs=1000)
        job.start()
        job.wait_for_step(20)
        job.kill_all()
        again = job.run()
        self.assert_code(again, 2)
        self.assertIn("--resume", again.tail())
        self.assertIn("--fresh", again.tail())
        self.assert_code(job.run("--fresh", "--set", "job.epochs=5"), 0)

    def test_a_full_disk_ends_the_job_with_its_cause(self):
        full = os.path.join(self.scratch, "full")
        os.makedirs(full)
        mounted = harness.command("-t", "tmpfs", "-o", "size=256k", "tmpfs", full, program="mount")
        if mounted.code != 0:
            raise unittest.SkipTest("needs the right to mount a small file system")
        try:
            self.refused(harness.DIGITS, 1, "No space left", seconds=40, checkpoint__keep=1000,
                         checkpoint__dir=os.path.join(full, "checkpoints"), checkpoint__every="200 steps")
        finally:
            subprocess.run(["umount", full], check=True)
            shutil.rmtree(full)


if __name__ == "__main__":
    harness.main()
