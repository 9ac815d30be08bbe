"""The benches run, and write rows of the documented shape; what they measure is not judged here."""

import json
import os

import harness

CASES = {
    "recovery": {"hold", "shrink"},
    "detect": set(),
    "overhead": set(),
    "master": {"master killed"},
}


class Bench(harness.SystemTest):
    def test_each_bench_writes_rows(self):
        for name, cases in CASES.items():
            with self.subTest(bench=name):
                path = os.path.join(self.scratch, name + ".json")
                done = harness.command("bench", name, "--quick", "--json", path, seconds=100, cwd=self.scratch)
                self.assert_code(done, 0)
                with open(path, encoding="utf-8") as stream:
                    told = json.load(stream)
                self.assertEqual(told["bench"], name)
                self.assertIn("host", told)
                self.assertTrue(told["rows"])
                for row in told["rows"]:
                    self.assertGreaterEqual(set(row), {"case", "metric", "value"}, row)
                self.assertEqual(cases - {row["case"] for row in told["rows"]}, set())


if __name__ == "__main__":
    harness.main()
