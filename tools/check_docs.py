#!/usr/bin/env python3
"""Checks that the documentation tells the truth: README.md, CONTRIBUTING.md and every docs/*.md.

A comment on the line before a fenced block says where the block comes from:

  <!-- snippet: examples/foo.cpp#name -->   equal to the text between `// [name]` and `// [/name]` there (`#` in files
                                            whose comments start so); without #name, to the whole file. The file is built
                                            and run by the tests, so the snippet is. Every ```cpp block needs one.
  <!-- output: foo -->                      a ```console block: lines that start with $, then examples/expected/foo.txt
  <!-- run: costate info -->                a ```console block: `$ costate info`, then what that prints (numbers compared
                                            as tools/compare_text.py does); programs of the build are found by their name

A region of a Python function begins with the defaults of the function's arguments, so that a reader can paste it.

Relative links must lead to a file, and their #anchors to a heading. --write brings the blocks up to date instead."""
import argparse
import ast
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import compare_text

MARK = re.compile(r"^\s*<!--\s*(snippet|output|run):\s*(.*?)\s*-->\s*$")
FENCE = re.compile(r"^(\s*)(```+)\s*([\w+-]*)\s*$")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()]*\))?)(?:\s+\"[^\"]*\")?\)")


class Problem(Exception):
    pass


def region(text, name):
    """The dedented lines between the markers [name] and [/name]; markers of other regions are left out."""
    lines, inside, found = [], False, False
    for line in text.splitlines():
        marker = re.match(r"^\s*(?://|#)\s*\[(/?)([\w-]+)\]\s*$", line)
        if marker:
            if marker[2] == name:
                inside, found = not marker[1], True
        elif inside:
            lines.append(line)
    if not found:
        raise Problem(f"has no region [{name}]")
    if inside:
        raise Problem(f"region [{name}] is not closed")
    return textwrap.dedent("\n".join(lines)).strip("\n")


def arguments(text, name):
    """`a, b = 1, 2`: the defaults of the Python function around a region; empty at the top level."""
    line = text[:text.index(f"# [{name}]")].count("\n") + 1
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0) and node.args.defaults:
            names = [a.arg for a in node.args.args[-len(node.args.defaults):]]
            return f"{', '.join(names)} = {', '.join(ast.unparse(d) for d in node.args.defaults)}\n".replace("'", '"')
    return ""


class Docs:
    def __init__(self, root, build, write):
        self.root, self.build, self.write = root, build, write
        self.problems = []

    def pages(self):
        fixed = [self.root / name for name in ("README.md", "CONTRIBUTING.md", "CONTRACTS.md")]
        return [p for p in fixed if p.exists()] + sorted((self.root / "docs").glob("**/*.md"))

    def snippet(self, source):
        path, _, name = source.partition("#")
        if not (self.root / path).is_file():
            raise Problem(f"no such file: {path}")
        text = (self.root / path).read_text()
        try:
            if not name:
                return text.strip("\n")
            return (arguments(text, name) if path.endswith(".py") else "") + region(text, name)
        except Problem as problem:
            raise Problem(f"{path} {problem}") from None

    def expected_output(self, example):
        path = self.root / f"examples/expected/{example}.txt"
        if not path.is_file():
            raise Problem(f"no expected output {path.relative_to(self.root)}")
        return path.read_text().rstrip()

    def output_of(self, command):
        environment = dict(os.environ)
        if self.build:
            environment["PATH"] = f"{self.build / 'bin'}{os.pathsep}{environment['PATH']}"
        done = subprocess.run(["bash", "-c", command], cwd=self.root, env=environment, capture_output=True, text=True,
                              timeout=300)
        # The status of a pipe is that of its last command, which ends well when the first one is not there.
        if done.returncode != 0 or "command not found" in done.stderr:
            raise Problem(f"`{command}` ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        return done.stdout.rstrip()

    def block(self, kind, source, body):
        """What the block should say; the body itself where it is right."""
        if kind == "snippet":
            return self.snippet(source)
        commands, printed = [], body.splitlines()
        while printed and (printed[0].startswith("$ ") or (commands and commands[-1].endswith("\\"))):
            commands.append(printed.pop(0))
        if kind == "output":
            return "\n".join([*commands, self.expected_output(source)])
        wanted, got = f"$ {source}", self.output_of(source)
        if commands == [wanted] and not compare_text.differences("\n".join(printed), got):
            return body
        return f"{wanted}\n{got}"

    def check_page(self, page):
        lines, output, i, mark = page.read_text().splitlines(), [], 0, None
        prose = []  # lines outside code, for the links
        name = page.relative_to(self.root)
        while i < len(lines):
            line = lines[i]
            opening = FENCE.match(line)
            if not opening:
                mark = MARK.match(line) or (mark if not line.strip() else None)
                prose.append(re.sub(r"`[^`]*`", "``", line))
                output.append(line)
                i += 1
                continue
            indent, fence, language = opening.groups()
            end = next((j for j in range(i + 1, len(lines)) if lines[j].strip() == fence), None)
            if end is None:
                self.problems.append(f"{name}:{i + 1}: the block is not closed")
                return
            body = "\n".join(l[len(indent):] if l.startswith(indent) else l.lstrip() for l in lines[i + 1:end])
            right = body
            try:
                if mark:
                    right = self.block(mark[1], mark[2], body)
                elif language in ("cpp", "c++", "cuda"):
                    raise Problem("a C++ block without a `<!-- snippet: file#name -->` before it")
            except (Problem, subprocess.TimeoutExpired) as problem:
                self.problems.append(f"{name}:{i + 1}: {problem}")
            if right != body and not self.write:
                self.problems.append(f"{name}:{i + 1}: differs from {mark[1]}: {mark[2]}   (./dev docs --write brings it up to date)")
            output += [line, *((indent + l).rstrip() for l in right.splitlines()), lines[end]]
            i, mark = end + 1, None
        if self.write and output != lines:
            page.write_text("\n".join(output) + "\n")
            print("updated", name)
        self.check_links(page, prose)

    def check_links(self, page, prose):
        for line in prose:
            for target in LINK.findall(line):
                if re.match(r"^[a-z][a-z0-9+.-]*:", target):  # another site, or mail
                    continue
                path, _, anchor = target.partition("#")
                file = (page.parent / path).resolve() if path else page
                if not file.exists():
                    self.problems.append(f"{page.relative_to(self.root)}: link to {target}: no such file")
                elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
                    self.problems.append(f"{page.relative_to(self.root)}: link to {target}: no such heading")


def anchors(text):
    """The names of a page's headings, as GitHub makes them."""
    found, inside = set(), False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
        heading = None if inside else re.match(r"^#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
            again = 1
            unique = slug
            while unique in found:
                unique, again = f"{slug}-{again}", again + 1
            found.add(unique)
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    options.add_argument("--build", type=Path, help="build folder whose bin/ holds the programs")
    options.add_argument("--write", action="store_true")
    options = options.parse_args()
    docs = Docs(options.root.resolve(), options.build and options.build.resolve(), options.write)
    pages = docs.pages()
    for page in pages:
        docs.check_page(page)
    print(*docs.problems, sep="\n", end="\n" if docs.problems else "")
    print(f"{len(pages)} pages, {len(docs.problems)} problems")
    return 1 if docs.problems else 0


if __name__ == "__main__":
    sys.exit(main())
