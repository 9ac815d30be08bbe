"""Examples are tests: each runs as shipped, gives the same model with a worker killed under it, and in one process."""

import os

import harness

EXAMPLES = ("session/session.toml", "evaluator/evaluator.toml")


class Examples(harness.SystemTest):
    def run_example(self, name, file, *more, **settings):
        job = self.job(name, file=os.path.join(harness.ROOT, "examples", file), workers=2, epochs=5, **settings)
        result = job.run(*more)
        self.assert_code(result, 0)
        self.assertEqual(result.report["samples_by_count"], {"1": 5 * harness.TRAIN})
        self.assert_nothing_left(job)
        return result.report["model_digest"]

    def test_each_example_keeps_the_promise(self):
        for file in EXAMPLES:
            with self.subTest(file=file):
                name = os.path.basename(os.path.dirname(file))
                shipped = self.run_example(name, file)
                killed = self.run_example(name + "-killed", file, chaos=("kill worker 1 at step 40 in reduce",))
                self.assertEqual(killed, shipped)
                self.assertEqual(self.run_example(name + "-alone", file, "--in-process"), shipped)

    def test_digits_in_one_process(self):
        job = self.job("alone")
        result = job.run("--in-process")
        self.assert_code(result, 0)
        self.assertEqual(result.report["model_digest"], self.reference())
        self.assert_nothing_left(job)


if __name__ == "__main__":
    harness.main()
