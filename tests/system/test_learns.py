"""It learns: the digits example as shipped reaches its accuracy, and its report, metrics and screen say what
happened."""

import json
import os

import harness

REPORT = set("""
    job result cause seed steps samples epochs metrics model_digest workers generations failures faults
    samples_by_count skipped goodput checkpoints modes wall_s version config host
""".split())


class Learns(harness.SystemTest):
    def test_digits_as_shipped_are_learned_and_the_report_says_so(self):
        job = self.job("shipped", epochs=None)
        report = self.assert_finished(job, job.run(), epochs=100)
        self.assertGreaterEqual(report["metrics"]["test_accuracy"], 0.965)
        self.assertEqual(REPORT - set(report), set())
        self.assertRegex(report["model_digest"], "^[0-9a-f]{16}$")
        self.assertEqual(report["failures"], [])
        self.assertEqual(report["workers"], {"start": 4, "end": 4})

        rows = []
        with open(os.path.join(job.dir, "metrics.jsonl"), encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        steps = [row["step"] for row in rows if "loss" in row]
        self.assertEqual(steps, sorted(set(steps)), "each step has one row, in order")
        self.assertLess(rows[-1]["step"], 100 * harness.TRAIN // harness.BATCH + 1)

        self.assertTrue(job.lines(r"finished: 2,250 steps"), job.out())
        self.assertTrue(job.lines(report["model_digest"]), "the last screen shows the digest")
        self.assertTrue(report["checkpoints"], "the last step is written")


if __name__ == "__main__":
    harness.main()
