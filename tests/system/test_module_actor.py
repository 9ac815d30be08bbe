"""Actors of a module: the evaluator of examples/evaluator runs beside the training, dies, and comes back."""

import os

import harness


class ModuleActor(harness.SystemTest):
    FILE = os.path.join(harness.ROOT, "examples/evaluator/evaluator.toml")

    def test_an_evaluator_that_dies_is_restarted_and_the_model_is_the_same(self):
        calm = self.job("calm", file=self.FILE, workers=2, epochs=200)
        undisturbed = calm.run()
        self.assert_code(undisturbed, 0)
        job = self.job("killed", file=self.FILE, workers=2, epochs=200, trainer__fail_every=3)
        result = job.run()
        self.assert_code(result, 0)
        self.assertEqual(result.report["model_digest"], undisturbed.report["model_digest"])
        lives = result.report["metrics"]["evaluator_lives"]
        self.assertGreaterEqual(lives, 2, "the actor had more than one life")
        self.assert_nothing_left(job)


if __name__ == "__main__":
    harness.main()
