"""Replay: the event log of a real, disturbed run gives the same decisions again, and a log with one changed byte does
not pass. (Every other system test replays the logs of its runs too.)"""

import os

import harness


class Replay(harness.SystemTest):
    def replay(self, path):
        return harness.command("replay", path)

    def test_a_disturbed_run_replays_and_a_changed_log_does_not(self):
        job = self.job("job", chaos=("kill worker 1 at step 60 in reduce", "kill worker 3 at step 200"))
        self.assert_finished(job, job.run(), self.reference())
        told = self.replay(job.events)
        self.assert_code(told, 0)
        self.assertRegex(told.out, r"\d+ (records|events|decisions)")

        with open(job.events, "rb") as stream:
            log = bytearray(stream.read())
        log[len(log) // 2] ^= 0x40
        changed = os.path.join(self.scratch, "changed.events")
        with open(changed, "wb") as stream:
            stream.write(log)
        self.assertEqual(self.replay(changed).code, 1)

    def test_what_is_no_event_log_is_refused(self):
        for text in (b"", b"hello", os.urandom(4096)):
            path = os.path.join(self.scratch, "junk")
            with open(path, "wb") as stream:
                stream.write(text)
            self.assertIn(self.replay(path).code, (1, 2))


if __name__ == "__main__":
    harness.main()
