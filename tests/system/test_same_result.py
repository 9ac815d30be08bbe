"""Failures do not show in the result: whatever happens on the way, the model has the bits of the undisturbed run, and
every sample of every epoch was trained exactly once."""

import random

import harness

LONG = 400  # epochs: seconds, for what is done from outside while the job runs


class SameResult(harness.SystemTest):
    def same(self, *chaos, name="disturbed", failures=None, **settings):
        report = self.run_whole(name, self.reference(), chaos=chaos, **settings)
        if failures is not None:
            self.assertEqual(len(report["failures"]), failures, report["failures"])
        self.assertTrue(all(fault["fired"] or fault["exempt"] for fault in report["faults"]), report["faults"])
        return report

    # --- number of workers ---

    def test_any_number_of_workers(self):
        for workers in (1, 2, 3, 5, 8):
            with self.subTest(workers=workers):
                report = self.same(name=f"workers-{workers}", failures=0, workers=workers)
                self.assertEqual(report["workers"]["end"], workers)

    # --- one death, in each phase ---

    def test_a_death_between_steps(self):
        report = self.same("kill worker 2 at step 100", failures=1)
        failure = report["failures"][0]
        self.assertIn(failure["resumed_step"], (99, 100, 101))
        self.assertEqual(report["workers"], {"start": 4, "end": 4})

    def test_a_death_in_each_phase_of_a_step(self):
        for phase in ("gradient", "reduce", "update", "snapshot"):
            with self.subTest(phase=phase):
                self.same(f"kill worker 1 at step 100 in {phase}", name=phase, failures=1)

    def test_a_death_in_each_phase_of_a_recovery(self):
        for phase in ("drain", "restore"):
            with self.subTest(phase=phase):
                self.same("kill worker 2 at step 100 in reduce", f"kill worker 0 at step 100 in {phase}", name=phase)

    def test_the_death_of_a_lone_worker(self):
        self.same("kill worker 0 at step 100 in update", failures=1, workers=1)

    # --- more than one ---

    def test_two_deaths_at_once(self):
        self.same("kill worker 1 at step 100 in reduce", "kill worker 3 at step 100 in reduce")

    def test_all_but_one_die_at_once(self):
        self.same(*(f"kill worker {rank} at step 150" for rank in (0, 2, 3)))

    def test_ten_random_kills(self):
        draw = random.Random(harness.seed())
        phases = ("", " in gradient", " in reduce", " in update", " in snapshot")
        self.same(*(f"kill worker {draw.randrange(4)} at step {step}{draw.choice(phases)}"
                    for step in sorted(draw.sample(range(5, 440), 10))))

    def test_kills_at_random_times(self):
        self.same("kill worker every 50ms")

    # --- other faults ---

    def test_a_stopped_worker_is_replaced(self):
        self.same("stop worker 1 at step 100 for 3s", failures=1)

    def test_a_short_stop_is_only_waited_for(self):
        self.same("stop worker 1 at step 100 for 300ms", failures=0)

    def test_a_slow_worker(self):
        self.same("slow worker 0 x3 from step 50 to 120", failures=0)

    def test_a_nan_is_rolled_back_and_redone(self):
        self.same("nan worker 2 at step 100")

    # --- other answers ---

    def test_shrinking_at_once(self):
        self.same("kill worker 2 at step 100 in reduce", recovery__hold="0s", failures=1)

    def test_restart_all(self):
        self.same("kill worker 2 at step 200", recovery__strategy="restart-all", checkpoint__every="50 steps")

    def test_scaling_down_and_up_on_the_way(self):
        job = self.job("scaled", epochs=LONG, workers=4, workers__max=8)
        job.start()
        for step, count in ((200, 2), (3000, 6)):
            job.wait_for_step(step)
            told = job.control("scale", str(count))
            self.assert_code(told, 0)
        report = self.assert_finished(job, job.finish(), self.reference(LONG), epochs=LONG)
        self.assertEqual(report["workers"], {"start": 4, "end": 6})
        self.assertEqual(report["failures"], [])

    def test_resume_after_every_process_was_killed(self):
        job = self.job("resumed", epochs=LONG, checkpoint__every="50 steps")
        job.start()
        job.wait_for_step(400)
        job.kill_all()
        refused = job.run()
        self.assert_code(refused, 2)
        self.assertIn("--resume", refused.tail())
        self.assert_finished(job, job.run("--resume"), self.reference(LONG), epochs=LONG)


if __name__ == "__main__":
    harness.main()
