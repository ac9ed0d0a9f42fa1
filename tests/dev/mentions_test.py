"""Files that comments and documents point to are there: a head that names its tests, a page that names a source."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATH = re.compile(r"(?<![\w./-])((?:tests|costate|examples|bench|tools|docs|scenes)/[\w/]+\.(?:cpp|h|cu|py|md|toml|xml))")
# Of CONTRIBUTING.md, for any x; made by the build.
NOT_FILES = {"tests/ode/x_test.cpp", "costate/ode/x.h", "costate/ode/x.cpp", "costate/core/built_for.h",
             "costate/contract/contract.h"}


def mentioned():
    for folder in ("costate", "apps", "examples", "tests", "bench", "docs"):
        yield from (p for p in (ROOT / folder).rglob("*") if p.suffix in {".h", ".cpp", ".cu", ".py", ".md"}
                    and p.parent != Path(__file__).resolve().parent)  # tests of tools make up files
    yield from ROOT.glob("*.md")


class Mentions(unittest.TestCase):
    def test_every_file_that_is_named_exists(self):
        missing = []
        for source in mentioned():
            for name in set(PATH.findall(source.read_text(errors="replace"))) - NOT_FILES:
                if not (ROOT / name).exists():
                    missing.append(f"{source.relative_to(ROOT)}: {name}")
        self.assertEqual(missing, [])


    def test_no_note_lies_at_the_top_that_should_not_be_there(self):
        notes = [p.name for p in ROOT.iterdir() if p.is_file() and "do not commit" in p.read_text(errors="replace").lower()]
        self.assertEqual(notes, [])


if __name__ == "__main__":
    unittest.main()
