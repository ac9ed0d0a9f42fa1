#!/usr/bin/env python3
"""Writes examples/notebooks/*.ipynb from pages of the documentation, so that page, program and notebook say the same.

    python tools/notebooks.py            write
    python tools/notebooks.py --check    exit with 1 if one of them is not up to date

A block that quotes the page's own program (<!-- snippet: examples/python/tutorial.py#fit -->) becomes a cell to run.
Everything else becomes text. <!-- notebook: run --> after a block adds that line to its cell: something to look at. tests/python/test_notebooks.py
runs them. Needs nothing but the standard library."""
import json
import re
import sys
from pathlib import Path

import check_docs

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples/notebooks"
PAGES = {"docs/tutorial.md": "examples/python/tutorial.py", "docs/recipes.md": "examples/python/recipes.py"}
SHOWN = re.compile(r"^<!--\s*notebook:\s*(.*?)\s*-->$")
IMPORTS = "import numpy as np\n\nimport costate"


def from_notebooks(text):
    """Links of a page in docs/ as links of a notebook."""
    def moved(link):
        target = link[2]
        if re.match(r"^[a-z]+:|^#", target):
            return link[0]
        name, _, anchor = target.partition("#")
        path = (ROOT / "docs" / name).resolve().relative_to(ROOT)
        return f"{link[1]}(../../{path}{'#' + anchor if anchor else ''})"
    return re.sub(r"(\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)", moved, text)


def cells_of(page, program):
    """('markdown' or 'code', text) in the order of the page."""
    lines, cells, words, i = (ROOT / page).read_text().splitlines(), [], [], 0

    def end_text():
        text = "\n".join(words).strip("\n")
        if text:
            cells.append(("markdown", from_notebooks(text)))
        words.clear()
    while i < len(lines):
        mark, shown = check_docs.MARK.match(lines[i]), SHOWN.match(lines[i])
        if mark and mark[1] == "snippet" and mark[2].startswith(f"{program}#"):
            end = next(j for j in range(i + 2, len(lines)) if lines[j].strip() == "```")
            end_text()
            cells.append(("code", "\n".join(lines[i + 2:end])))
            i = end
        elif shown:
            cells[-1] = ("code", f"{cells[-1][1]}\n{shown[1]}")
        elif not mark:
            words.append(lines[i])
        i += 1
    end_text()
    if not any(kind == "code" and "import costate\n" in f"{text}\n" for kind, text in cells):
        first = next(i for i, (kind, _) in enumerate(cells) if kind == "code")
        cells[first] = ("code", f"{IMPORTS}\n\n{cells[first][1]}")
    return cells


def notebook(page, program):
    cells = []
    for i, (kind, text) in enumerate(cells_of(page, program)):
        cell = {"cell_type": kind, "id": f"cell-{i}", "metadata": {}, "source": text.splitlines(keepends=True)}
        cells.append(cell if kind == "markdown" else {**cell, "execution_count": None, "outputs": []})
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


def main():
    stale = []
    for page, program in PAGES.items():
        path, text = FOLDER / f"{Path(page).stem}.ipynb", notebook(page, program)
        if path.exists() and path.read_text() == text:
            continue
        stale.append(str(path.relative_to(ROOT)))
        if "--check" not in sys.argv[1:]:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text)
            print("updated", path.relative_to(ROOT))
    if stale and "--check" in sys.argv[1:]:
        return f"not up to date: {', '.join(stale)}; run python tools/notebooks.py"
    return 0


if __name__ == "__main__":
    sys.exit(main())
