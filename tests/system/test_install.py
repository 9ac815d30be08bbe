"""Installed: from the installed tree alone, an outside project builds a trainer module, and the installed command
runs it."""

import json
import os
import re

import harness

BUILD = os.environ.get("TROUPE_TEST_BUILD", os.path.join(harness.ROOT, "build/release"))
OUTSIDE = os.path.join(harness.ROOT, "examples/outside")


class Install(harness.SystemTest):
    def command(self, *words, **environment):
        done = harness.command(*words[1:], program=words[0], seconds=120, cwd=self.scratch,
                               env=dict(os.environ, **environment))
        self.assert_code(done, 0)
        return done.out

    def test_an_outside_project_builds_against_the_installed_tree_and_runs(self):
        target = os.path.join(self.scratch, "target")
        self.command("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", target)
        installed = [os.path.join(folder, name) for folder, _, names in os.walk(target) for name in names]
        troupe = next(path for path in installed if path.endswith("/bin/troupe"))
        config = next(path for path in installed if path.endswith("/troupe.pc"))
        self.assertTrue(any(path.endswith("/libexec/troupe/troupe-worker") for path in installed), installed)

        build = os.path.join(self.scratch, "outside")
        search = {"PKG_CONFIG_PATH": os.path.dirname(config), "PKG_CONFIG_SYSROOT_DIR": target}
        self.command("meson", "setup", build, OUTSIDE, **search)
        self.command("meson", "compile", "-C", build)
        module = next(os.path.join(build, name) for name in os.listdir(build) if name.endswith(".so"))
        file = next(os.path.join(OUTSIDE, name) for name in os.listdir(OUTSIDE) if name.endswith(".toml"))

        harness.BIN, kept = troupe, harness.BIN
        try:
            job = self.job("outside", file=file, workers=2, epochs=None, job__module=module)
            result = job.run()
            self.assert_code(result, 0)
            self.assertEqual(result.report["result"], "done")
            self.assert_nothing_left(job)
        finally:
            harness.BIN = kept

    def test_installed_files_do_not_name_the_build_tree(self):
        target = os.path.join(self.scratch, "target")
        self.command("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", target)
        for folder, _, names in os.walk(target):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as stream:
                    found = re.search(re.escape(harness.ROOT.encode()) + rb"/[\w./-]+", stream.read())
                self.assertIsNone(found, f"{path}: {found}")

    def test_a_worker_is_small_it_loads_no_hdf5(self):
        worker = os.path.join(BUILD, "cli", "troupe-worker")
        self.assertNotIn("hdf5", self.command("ldd", worker))

    def test_the_version_is_one(self):
        told = json.loads(self.command("meson", "introspect", "--projectinfo", BUILD))["version"]
        self.assertIn(told, self.command(harness.BIN, "--version"))


if __name__ == "__main__":
    harness.main()
