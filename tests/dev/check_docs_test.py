"""tools/check_docs.py notices what would mislead a reader."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_docs  # noqa: E402

SOURCE = "int main() {\n  // [one]\n  int a = 1;\n    // [two]\n  if (a) {}\n    // [/two]\n  // [/one]\n}\n"


class CheckDocs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "docs").mkdir()
        (self.root / "examples/expected").mkdir(parents=True)
        (self.root / "examples/foo.cpp").write_text(SOURCE)
        (self.root / "examples/expected/foo.txt").write_text("energy 1.25\n")

    def problems(self, page, write=False):
        (self.root / "README.md").write_text(page)
        docs = check_docs.Docs(self.root, None, write)
        docs.check_page(self.root / "README.md")
        return docs.problems

    def test_a_snippet_equal_to_its_region_passes(self):
        page = "<!-- snippet: examples/foo.cpp#one -->\n```cpp\nint a = 1;\nif (a) {}\n```\n"
        self.assertEqual(self.problems(page), [])

    def test_a_snippet_that_differs_is_reported_with_its_line(self):
        page = "text\n<!-- snippet: examples/foo.cpp#two -->\n```cpp\nif (b) {}\n```\n"
        self.assertIn("README.md:3: differs", self.problems(page)[0])

    def test_a_region_of_a_python_function_begins_with_its_defaults(self):
        (self.root / "examples/foo.py").write_text("def f(n=3, path='a'):\n    # [one]\n    print(n)\n    # [/one]\n")
        page = '<!-- snippet: examples/foo.py#one -->\n```python\nn, path = 3, "a"\nprint(n)\n```\n'
        self.assertEqual(self.problems(page), [])

    def test_write_mends_it(self):
        page = "- list\n\n  <!-- snippet: examples/foo.cpp#one -->\n  ```cpp\n  old\n  ```\nafter\n"
        self.assertEqual(self.problems(page, write=True), [])
        mended = (self.root / "README.md").read_text()
        self.assertIn("  ```cpp\n  int a = 1;\n  if (a) {}\n  ```\nafter\n", mended)
        self.assertEqual(self.problems(mended), [])

    def test_cpp_without_a_source_is_reported(self):
        self.assertIn("without a", self.problems("```cpp\nint a;\n```\n")[0])

    def test_a_mark_counts_only_for_the_block_right_after_it(self):
        page = "<!-- snippet: examples/foo.cpp#two -->\nwords between\n```cpp\nif (a) {}\n```\n"
        self.assertIn("without a", self.problems(page)[0])

    def test_missing_files_and_regions_are_reported(self):
        self.assertIn("no such file", self.problems("<!-- snippet: gone.cpp#x -->\n```cpp\n```\n")[0])
        self.assertIn("no region [x]", self.problems("<!-- snippet: examples/foo.cpp#x -->\n```cpp\n```\n")[0])

    def test_outputs_are_those_of_the_example(self):
        page = "<!-- output: foo -->\n```console\n$ build/bin/foo\nenergy {}\n```\n"
        self.assertEqual(self.problems(page.format("1.25")), [])
        self.assertIn("differs from output", self.problems(page.format("1.26"))[0])

    def test_commands_are_run(self):
        page = "<!-- run: echo pi is 3.1416 -->\n```console\n$ echo pi is 3.1416\npi is {}\n```\n"
        self.assertEqual(self.problems(page.format("3.1415")), [])
        self.assertIn("differs from run", self.problems(page.format("3.2000"))[0])
        self.assertIn("ended with 3", self.problems("<!-- run: exit 3 -->\n```console\n$ exit 3\n```\n")[0])

    def test_links_lead_somewhere(self):
        (self.root / "docs/a.md").write_text("# The one, idea\n")
        good = "[a](docs/a.md#the-one-idea) [b](examples/foo.cpp) [c](https://example.org/x) `[not](a-link.md)`\n"
        self.assertEqual(self.problems(good), [])
        self.assertIn("no such file", self.problems("[a](docs/b.md)\n")[0])
        self.assertIn("no such heading", self.problems("[a](docs/a.md#other)\n")[0])


if __name__ == "__main__":
    unittest.main()
