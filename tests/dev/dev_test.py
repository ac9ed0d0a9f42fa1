"""./dev says what to install when it may not install it, how far a build is, and explains itself."""
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = "setup build test wheel coverage demo bench lint format docs clean".split()


def load_dev():
    loader = importlib.machinery.SourceFileLoader("dev", str(ROOT / "dev"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("dev", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


dev = load_dev()


class Terminal(io.StringIO):
    def isatty(self):
        return True


class WideComments(unittest.TestCase):
    def test_comments_are_found_and_long_strings_left_alone(self):
        with tempfile.TemporaryDirectory(dir=ROOT) as folder:
            files = {"full.h": "// " + 120 * "a", "trailing.h": "int a;  // " + 120 * "b", "string.h": 'f("// ' + 120 * "c" + '");',
                     "short.h": "// short"}
            for name, text in files.items():
                (Path(folder) / name).write_text(text + "\n")
            said, sys.stdout = sys.stdout, io.StringIO()
            try:
                bad = dev.wide_comments([os.path.join(folder, name) for name in files])
            finally:
                sys.stdout = said
        self.assertEqual([os.path.basename(name) for name in bad], ["full.h", "trailing.h"])


# What CMake looks for -> the Debian package that has it. None: not from Debian, or not asked for by ./dev.
DEBIAN = {"TBB": "libtbb-dev", "Eigen3": "libeigen3-dev", "fmt": "libfmt-dev", "CLI11": "libcli11-dev", "MPI": "libopenmpi-dev",
          "nlohmann_json": "nlohmann-json3-dev", "tinyxml2": "libtinyxml2-dev", "SUNDIALS": "libsundials-dev",
          "GTest": "libgtest-dev", "benchmark": "libbenchmark-dev", "Python": "python3-dev", "Python3": None, "nanobind": None,
          "CUDAToolkit": None, "costate": None}


class Packages(unittest.TestCase):
    def test_whatever_the_build_looks_for_is_installed_on_a_bare_machine(self):
        listed = subprocess.run(["git", "ls-files", "*CMakeLists.txt", "*.cmake"], cwd=ROOT, capture_output=True, text=True)
        if listed.returncode:
            self.skipTest("not a git checkout")
        offered = {package for group in dev.PACKAGES.values() for package in group}
        for file in listed.stdout.split():
            for name in re.findall(r"^\s*find_package\((\w+)", (ROOT / file).read_text(), re.MULTILINE):
                self.assertIn(name, DEBIAN, f"{file}: name its Debian package here")
                if DEBIAN[name]:
                    self.assertIn(DEBIAN[name], offered, f"{file} looks for {name}; ./dev does not install it")


class ProgressOfABuild(unittest.TestCase):
    def show(self, out, steps):
        """What is written when ninja says (time, done, total)."""
        now = [0.0]
        progress = dev.Progress("building the demo", out=out, clock=lambda: now[0])
        for at, done, total in steps:
            now[0] = at
            progress.step(done, total)
        return progress

    def test_a_log_gets_few_lines_that_say_how_long_it_will_take(self):
        out = io.StringIO()
        self.show(out, [(second, second, 80) for second in range(1, 81)])
        self.assertEqual(out.getvalue().splitlines(), ["building the demo: 20 of 80 files, about 60 s left",
                                                       "building the demo: 40 of 80 files, about 40 s left",
                                                       "building the demo: 60 of 80 files, about 20 s left",
                                                       "building the demo: 80 of 80 files, about 0 s left"])

    def test_a_terminal_gets_one_line_that_goes_away(self):
        out = Terminal()
        progress = self.show(out, [(1, 1, 4), (2, 2, 4), (2.1, 3, 4)])
        progress.end()
        self.assertEqual(out.getvalue(), "\r\033[Kbuilding the demo: 1 of 4 files, about 3 s left"
                                         "\r\033[Kbuilding the demo: 2 of 4 files, about 2 s left\r\033[K")

    def test_an_error_is_not_overwritten(self):
        out = Terminal()
        progress = self.show(out, [(1, 1, 4)])
        progress.say("FAILED: a.o\n")
        progress.end()
        self.assertTrue(out.getvalue().endswith("left\r\033[KFAILED: a.o\n"))


class WatchedBuilds(unittest.TestCase):
    def watch(self, program, **options):
        """What is written while a program runs that prints as ninja does, and whether it failed."""
        said, sys.stdout = sys.stdout, io.StringIO()
        try:
            dev.watch_ninja([sys.executable, "-c", program], "building", **options)
            return sys.stdout.getvalue(), False
        except dev.Failed:
            return sys.stdout.getvalue(), True
        finally:
            sys.stdout = said

    def test_what_is_no_progress_is_said(self):
        self.assertEqual(self.watch("print('[1/2] a.o'); print('a.cpp:1: warning')"), ("a.cpp:1: warning\n", False))

    def test_pip_is_quiet_until_it_fails(self):
        program = "print('  [1/2] a.o'); print('Preparing metadata'); raise SystemExit({})"
        self.assertEqual(self.watch(program.format(0), quiet=True), ("", False))
        self.assertEqual(self.watch(program.format(1), quiet=True), ("Preparing metadata\n", True))


class Wheels(unittest.TestCase):
    def test_both_builds_of_the_engine_are_made_the_same_way(self):
        """What pyproject.toml sets for the build is handed on to the one for wider registers, or meant for one of them alone."""
        project, cmake = ((ROOT / file).read_text() for file in ("pyproject.toml", "python/CMakeLists.txt"))
        settings = re.findall(r"^(COSTATE_\w+) = ", project.partition("[tool.scikit-build.cmake.define]")[2], re.MULTILINE)
        handed_on = re.findall(r"-D(\w+):", cmake.partition("ExternalProject_Add")[2])
        self.assertIn("COSTATE_CUDA_ARCH", settings)
        self.assertEqual(set(settings) - set(handed_on), {"COSTATE_PYTHON_WIDER"})


class BuildFolders(unittest.TestCase):
    def test_they_are_where_the_presets_put_them(self):
        presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
        folder = {p["name"]: p["binaryDir"] for p in presets if "binaryDir" in p}
        for name in dev.PRESETS:
            self.assertEqual(folder[name], "${sourceDir}/" + dev.Build(name).folder)

    def test_an_instruction_set_has_a_folder_of_its_own(self):
        options = dev.parser().parse_args(["test", "--isa", "x86-64"])
        tree = dev.tree_to_test(options)
        self.assertEqual((tree.folder, tree.settings), ("build-x86-64", ("-D", "COSTATE_ARCH=x86-64")))

    def test_an_instruction_set_that_cannot_run_here_is_refused(self):
        dev.ISA_FLAGS["x86-64-v9"] = ["time_travel"]
        done, sys.stderr = sys.stderr, io.StringIO()
        try:
            with self.assertRaises(dev.Failed) as failed:
                dev.tree_to_test(dev.parser().parse_args(["test", "--isa", "x86-64-v9"]))
            said = sys.stderr.getvalue()
        finally:
            sys.stderr = done
        self.assertEqual(failed.exception.code, 2)
        self.assertIn("this processor has no time_travel; choose another --isa", said)

    def test_what_every_run_builds_a_second_time_exists(self):
        for label in [*dev.ALWAYS_SANITIZED, *dev.CONTRACT]:
            self.assertTrue((ROOT / "tests" / label).is_dir(), label)


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
            (Path(folder) / "tools").mkdir(mode=0o755)
            for name in "dev", "tools/dev_steps.py":
                (Path(folder) / name).write_text((ROOT / name).read_text())
                (Path(folder) / name).chmod(0o755)
            script = Path(folder) / "dev"
            Path(folder).chmod(0o755)
            done = subprocess.run([script, "test"], env={"PATH": folder}, user=65534, capture_output=True, text=True,
                                  cwd=folder)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"sudo apt-get install cmake ninja-build g\+\+ .*libgtest-dev.*\n")


if __name__ == "__main__":
    unittest.main()
