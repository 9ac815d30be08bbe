"""Looking and steering: status, scale, pause, unpause, save, kill and stop on a running job."""

import os

import harness


class Control(harness.SystemTest):
    def test_a_running_job_is_looked_at_and_steered(self):
        job = self.job("job", epochs=100000, workers__max=8, checkpoint__every="never")
        job.start()
        status = job.wait_for_step(50)
        self.assertEqual(status["state"], "running")
        self.assertIn("generation", status)
        self.assertIn("digits", job.control("status").out)

        self.assert_code(job.control("pause"), 0)
        paused = harness.wait_until(lambda: self.state(job, "paused"), "the pause", 10)
        harness.wait_until(lambda: job.status()["step"] == paused["step"], "a standstill", 5)
        self.assert_code(job.control("unpause"), 0)
        job.wait_for_step(paused["step"] + 50)

        self.assert_code(job.control("scale", "2"), 0)
        harness.wait_until(lambda: len(job.living("worker")) == 2, "two workers", 20)
        refused = job.control("scale", "9")
        self.assertNotEqual(refused.code, 0)
        self.assertRegex(refused.tail(), r"workers\.(max|virtual)")

        self.assert_code(job.control("save"), 0)
        harness.wait_until(lambda: os.listdir(os.path.join(job.dir, "checkpoints")), "a checkpoint", 20)

        missing = job.control("kill", "worker", "99")
        self.assertEqual(missing.code, 1, missing.tail())
        self.assertIn("no worker 99", missing.tail())
        before = {one.pid for one in job.living("worker")}
        self.assert_code(job.control("kill", "worker", "1"), 0)
        harness.wait_until(lambda: len({one.pid for one in job.living("worker")} - before) == 1, "a replacement", 20)

        self.assert_code(job.control("stop"), 0)
        result = job.finish(30)
        self.assert_code(result, 0)
        self.assertEqual(result.report["result"], "stopped")
        self.assert_nothing_left(job)
        self.assert_replays(job)

    def state(self, job, wanted):
        status = job.status()
        return status if status and status["state"] == wanted else None

    def test_without_a_job_the_commands_say_so(self):
        job = self.job("nothing")
        for words in (("status",), ("stop",), ("scale", "2")):
            told = job.control(*words)
            self.assertEqual(told.code, 2, told.tail())
            self.assertTrue(told.err.strip())


if __name__ == "__main__":
    harness.main()
