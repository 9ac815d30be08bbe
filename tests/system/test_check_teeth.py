"""The check has teeth: `troupe check` finds each flaw it is there for, names it, and passes a sound trainer."""

import os

import harness
from jobfiles import JobFiles


class CheckTeeth(JobFiles):
    def check(self, flaw):
        file = self.toml(trainer=f'flaw = "{flaw}"')
        return harness.command("check", file, cwd=self.scratch, env=dict(os.environ, TMPDIR=self.scratch))

    def test_a_sound_trainer_passes(self):
        done = self.check("none")
        self.assert_code(done, 0)

    def test_each_flaw_is_found_and_the_tensor_named(self):
        for flaw in ("counter", "rand", "state in gradient"):
            with self.subTest(flaw=flaw):
                done = self.check(flaw)
                self.assert_code(done, 1)
                self.assertIn("seen" if flaw == "state in gradient" else "weights", done.tail())

    def test_the_shipped_example_passes(self):
        self.assert_code(harness.command("check", harness.DIGITS, cwd=self.scratch), 0)


if __name__ == "__main__":
    harness.main()
