"""The master may die: whenever it is killed, its command starts it again, it continues from its journal, workers go on
meanwhile with their process ids, and the result is that of an undisturbed run."""

import concurrent.futures
import os
import random
import signal

import harness

LONG = 400  # epochs: seconds


class MasterDies(harness.SystemTest):
    def test_a_kill_between_two_steps_is_not_seen_in_the_result(self):
        report = self.run_whole("once", self.reference(), chaos=["kill master at step 60"])
        self.assertEqual(report["failures"], [])
        self.assertTrue(all(fault["fired"] for fault in report["faults"]), report["faults"])

    def test_kills_of_master_and_workers_at_once(self):
        for phase in ("gradient", "reduce", "update", "snapshot"):
            with self.subTest(phase=phase):
                self.run_whole(phase, self.reference(), chaos=[
                    f"kill worker 1 at step 100 in {phase}", "kill master at step 100",
                    f"kill worker 2 at step 250 in {phase}", "kill master at step 251"])

    def test_a_kill_while_a_generation_is_formed(self):
        """Each lands a little later after a worker's death: in drain, plan, journal, connect, restore, first steps."""
        draw = random.Random(harness.seed())
        job = self.job("forming", epochs=LONG)
        job.start()
        job.wait_for_step(100)
        for delay in (0, 0.001, 0.003, 0.006, 0.01, 0.02, 0.04, 0.08):
            harness.wait_until(lambda: len(job.living("worker")) == 4 and len(job.living("master")) == 1, "all of it")
            workers, master = job.living("worker"), job.living("master")[0]
            os.kill(draw.choice(workers).pid, signal.SIGKILL)
            harness.pause(delay)
            os.kill(master.pid, signal.SIGKILL)
            harness.wait_until(lambda: [one for one in job.living("master") if one.pid != master.pid], "another master")
        self.assert_finished(job, job.finish(), self.reference(LONG), epochs=LONG)

    def test_training_goes_on_meanwhile(self):
        job = self.job("meanwhile", epochs=LONG)
        job.start()
        job.wait_for_step(100)
        workers = sorted(one.pid for one in job.living("worker"))
        for _ in range(5):
            master = job.living("master")[0].pid
            os.kill(master, signal.SIGKILL)
            harness.wait_until(lambda: [one for one in job.living("master") if one.pid != master], "another master")
            job.wait_for_step(job.wait_for_step(1)["step"] + 50)
        self.assertEqual(sorted(one.pid for one in job.living("worker")), workers)
        report = self.assert_finished(job, job.finish(), self.reference(LONG), epochs=LONG)
        self.assertEqual(report["failures"], [])
        self.assertEqual(report["generations"], 1)

    def test_a_save_that_is_waited_for_is_told(self):
        job = self.job("asked", epochs=100000)
        job.start()
        job.wait_for_step(100)
        master = job.living("master")[0].pid
        os.kill(master, signal.SIGSTOP)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            asker = pool.submit(job.control, "save", seconds=15)  # its own limit is two minutes
            harness.pause(0.3)
            os.kill(master, signal.SIGKILL)
            told = asker.result()
        self.assertEqual(told.code, 1, told.tail())
        job.kill_all()

    def test_a_kill_before_it_listens(self):
        job = self.job("early")
        job.start()
        first = harness.wait_until(lambda: job.living("master"), "a master", every=0.0005)[0]
        os.kill(first.pid, signal.SIGKILL)
        self.assert_finished(job, job.finish(), self.reference())

    def test_node_and_master_die_one_after_the_other(self):
        for delay in (0, 0.05, 0.5):
            with self.subTest(delay=delay):
                job = self.job(f"both-{delay}", epochs=LONG)
                job.start()
                job.wait_for_step(100)
                os.kill(job.living("node")[0].pid, signal.SIGKILL)
                harness.pause(delay)
                os.kill(job.living("master")[0].pid, signal.SIGKILL)
                self.assert_finished(job, job.finish(), self.reference(LONG), epochs=LONG)


if __name__ == "__main__":
    harness.main()
