"""./dev says what to install when it may not install it, and explains itself."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = "setup build test coverage demo bench lint format docs clean".split()


class Dev(unittest.TestCase):
    def test_every_command_explains_itself(self):
        for command in COMMANDS:
            done = subprocess.run([ROOT / "dev", command, "--help"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0)
            self.assertIn(f"usage: ./dev {command}", done.stdout)

    @unittest.skipUnless(os.geteuid() == 0, "changes to another user")
    def test_without_root_it_prints_the_line_to_run(self):
        with tempfile.TemporaryDirectory() as folder:
            # A machine on which nothing is installed: neither the packages nor sudo.
            program = Path(folder) / "dpkg-query"
            program.write_text("#!/bin/sh\nexit 1\n")
            program.chmod(0o755)
            for name in "python3", "env":
                (Path(folder) / name).symlink_to(f"/usr/bin/{name}")
            script = Path(folder) / "dev"
            script.write_text((ROOT / "dev").read_text())
            script.chmod(0o755)
            Path(folder).chmod(0o755)
            done = subprocess.run([script, "test"], env={"PATH": folder}, user=65534, capture_output=True, text=True,
                                  cwd=folder)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"sudo apt-get install cmake ninja-build g\+\+ .*libgtest-dev.*\n")


if __name__ == "__main__":
    unittest.main()
