"""Clean: after any exit, asked for or not, of any process, nothing of the job is left but its directory."""

import os
import signal

import harness

LONG = 400  # epochs: seconds


class Clean(harness.SystemTest):
    def started(self, **settings):
        job = self.job("job", epochs=100000, **settings)
        job.start()
        job.wait_for_step(20)
        self.assertEqual(len(job.living("worker")), 4)
        return job

    def ended(self, job, *codes, seconds=20.0):
        result = job.finish(seconds)
        self.assertIn(result.code, codes, result.tail())
        self.assert_nothing_left(job)
        return result

    def test_interrupt_from_the_keyboard(self):
        job = self.started()
        os.killpg(job.process.pid, signal.SIGINT)  # as a terminal does: every process of the group gets it
        result = self.ended(job, 130)
        self.assertEqual(result.report["result"], "interrupted")

    def test_interrupt_of_the_command_alone(self):
        job = self.started()
        os.kill(job.process.pid, signal.SIGINT)
        self.ended(job, 130)

    def test_termination(self):
        job = self.started()
        os.kill(job.process.pid, signal.SIGTERM)
        self.ended(job, 130, 143)

    def test_an_interrupted_job_resumes_to_the_same_result(self):
        job = self.job("job", epochs=LONG)
        job.start()
        job.wait_for_step(300)
        os.kill(job.process.pid, signal.SIGINT)
        self.ended(job, 130)
        self.assert_finished(job, job.run("--resume"), self.reference(LONG), epochs=LONG)

    def test_kill_of_the_command(self):
        job = self.started()
        os.kill(job.process.pid, signal.SIGKILL)
        self.ended(job, -signal.SIGKILL)

    def test_kill_of_the_master(self):
        """The command starts another master; the job goes on, and still ends cleanly."""
        job = self.started()
        first = job.living("master")[0].pid
        os.kill(first, signal.SIGKILL)
        harness.wait_until(lambda: [one for one in job.living("master") if one.pid != first], "another master", 10)
        job.wait_for_step(job.wait_for_step(1)["step"] + 10)
        os.kill(job.process.pid, signal.SIGINT)
        self.ended(job, 130)

    def test_kill_of_the_node(self):
        """The command starts another node; the job goes on with new workers, and still ends cleanly."""
        job = self.started()
        first = job.living("node")[0].pid
        os.kill(first, signal.SIGKILL)
        harness.wait_until(lambda: [one for one in job.living("node") if one.pid != first], "another node", 10)
        harness.wait_until(lambda: len(job.living("worker")) == 4, "four workers", 20)
        os.kill(job.process.pid, signal.SIGINT)
        self.ended(job, 130)

    def test_kill_of_a_worker_costs_nothing(self):
        job = self.job("job", epochs=LONG)
        job.start()
        job.wait_for_step(100)
        victim, *others = job.living("worker")
        os.kill(victim.pid, signal.SIGKILL)
        report = self.assert_finished(job, job.finish(), self.reference(LONG), epochs=LONG)
        self.assertEqual(len(report["failures"]), 1)
        self.assertEqual(len(others), 3)


if __name__ == "__main__":
    harness.main()
