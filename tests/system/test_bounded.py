"""Bounded: from the 20th to the 200th kill of one run, master and node hold exactly as many descriptors, threads and
mappings, and hardly more memory."""

import os
import signal

import harness

EARLY, LATE = 20, 200


class Bounded(harness.SystemTest):
    def test_two_hundred_kills_leave_nothing_in_master_and_node(self):
        # Rows of metrics wait in the master until a checkpoint covers them: their number follows its cadence.
        job = self.job("job", epochs=1000000, recovery__budget_signal="1000000 per 60s", recovery__backoff="0s",
                       checkpoint__every="1s")
        job.start()
        job.wait_for_step(20)
        keepers = {role: job.living(role)[0] for role in ("master", "node")}
        samples = {}
        for kill in range(1, LATE + 1):
            workers = self.settled(job)
            os.kill(workers[kill % len(workers)].pid, signal.SIGKILL)
            if kill in (EARLY, LATE):
                self.settled(job)
                samples[kill] = {role: self.calm(keeper) for role, keeper in keepers.items()}
                self.seen -= 1  # nobody was killed since: the same generation will do
        os.kill(job.process.pid, signal.SIGINT)
        self.assert_code(job.finish(), 130)
        self.assert_nothing_left(job)
        for role in keepers:
            early, late = samples[EARLY][role], samples[LATE][role]
            print(role, early, late, flush=True)
            for kind in ("descriptors", "threads", "mappings"):
                self.assertEqual(early[kind], late[kind], f"{role}: {kind}")
            self.assertLessEqual(late["resident_kib"], early["resident_kib"] * 1.05 + 1024, role)

    def settled(self, job):
        """Four workers, all members of one generation that has been announced since the last kill."""
        seen = getattr(self, "seen", -1)  # the first generation is not announced

        def ready():
            formed = len(job.lines(r"^.*generation \d+: 4 workers"))
            workers = job.living("worker")
            return (formed, workers) if formed > seen and len(workers) == 4 else None
        self.seen, workers = harness.wait_until(ready, f"generation number {seen + 1} of four workers", 20)
        return workers

    def calm(self, process):
        """Holdings once they have stayed the same for a while: a recovery's last sockets close after its first step."""
        last, same = None, 0

        def still():
            nonlocal last, same
            now = process.holdings()
            shape = {kind: now[kind] for kind in ("descriptors", "threads", "mappings")}
            same = same + 1 if shape == last else 0
            last = shape
            return now if same >= 15 else None
        return harness.wait_until(still, "a calm process", 10, every=0.02)


if __name__ == "__main__":
    harness.main()
