"""The files of examples/deploy are what they claim to be: scripts that a shell reads, and a manifest of Kubernetes."""
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/deploy"


class Deploy(unittest.TestCase):
    def test_scripts_are_read_by_a_shell_and_ask_slurm_for_what_it_knows(self):
        scripts = sorted(FOLDER.glob("*.sbatch"))
        self.assertEqual([s.name for s in scripts], ["array.sbatch", "ranks.sbatch"])
        for script in scripts:
            subprocess.run(["sh", "-n", script], check=True)
            lines = script.read_text().splitlines()
            wishes = [line for line in lines if line.startswith("#SBATCH")]
            self.assertGreater(len(wishes), 3)
            for wish in wishes:
                self.assertRegex(wish, r"^#SBATCH --(job-name|array|ntasks|cpus-per-task|time|constraint)=\S+$")
            first = next(i for i, line in enumerate(lines) if line and not line.startswith("#"))
            self.assertTrue(all(lines.index(wish) < first for wish in wishes), "SLURM stops reading at the first command")

    def test_commands_have_options_that_the_program_has(self):
        known = (ROOT / "apps/costate/main.cpp").read_text()
        for script in FOLDER.glob("*.sbatch"):
            command = script.read_text().split("costate ", 2)[-1]
            for option in re.findall(r"(?<= )--[a-z-]+", command):
                self.assertIn(f'"{option}"', known, f"{script.name}: {option}")

    def test_the_manifest_is_a_ray_cluster(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no PyYAML")
        manifest = yaml.safe_load((FOLDER / "ray_cluster.yaml").read_text())
        self.assertEqual((manifest["apiVersion"], manifest["kind"]), ("ray.io/v1", "RayCluster"))
        head, (workers,) = manifest["spec"]["headGroupSpec"], manifest["spec"]["workerGroupSpecs"]
        self.assertEqual(head["rayStartParams"], {"num-cpus": "0"})
        self.assertLessEqual(workers["minReplicas"], workers["replicas"])
        self.assertLessEqual(workers["replicas"], workers["maxReplicas"])
        images = [group["template"]["spec"]["containers"][0]["image"] for group in (head, workers)]
        self.assertEqual(images[0], images[1])
        self.assertIn(images[0], (FOLDER / "Dockerfile").read_text())


if __name__ == "__main__":
    unittest.main()
