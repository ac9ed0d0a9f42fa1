#!/usr/bin/env python3
"""Writes build/docs/cpp_reference.md: what <costate/costate.h> declares, header by header, in the words of the headers.
`./dev docs` runs it.

Of each header: the first sentence of its head, then every public declaration at namespace level with the comment
above or behind it. Bodies, private parts and namespaces for internals (..._detail, unnamed) are left out."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "build/docs/cpp_reference.md"
INTERNAL = re.compile(r"namespace\s*(\w*detail\w*|)\s*\{")


def headers():
    """(title, headers) for each group of costate.h."""
    groups, title = [], ""
    for line in (ROOT / "costate/costate.h").read_text().splitlines():
        if line.startswith("// "):
            title = line[3:]
        elif found := re.match(r'#include "(.*)"', line):
            if not groups or groups[-1][0] != title:
                groups.append((title, []))
            groups[-1][1].append(found[1])
    return groups


def head_of(text):
    """The first paragraph of the comment that a header begins with."""
    words = []
    for line in text.splitlines():
        if not line.startswith("//") or line.strip() == "//":
            break
        words.append(line[2:].strip())
    return " ".join(words)


def tidy(text):
    return re.sub(r"\s+", " ", text).strip()


def without_body(text, at):
    """Index behind the brace that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i + 1
    return len(text)


def members(body):
    """Public members of a class body, as (declaration, comment)."""
    public = re.split(r"^\s*(?:private|protected):\s*$", body, flags=re.M)[0]
    return declarations(re.sub(r"^\s*public:\s*$", "", public, flags=re.M), deep=False)


def declarations(text, deep=True):
    """(declaration, comment, members) in the order of the text."""
    found, comment, i = [], [], 0
    while i < len(text):
        line_end = text.find("\n", i)
        line_end = len(text) if line_end < 0 else line_end
        line = text[i:line_end].strip()
        if line.startswith("//"):
            comment.append(line.lstrip("/").strip())
            i = line_end + 1
        elif not line:
            comment, i = [], line_end + 1
        elif line.startswith("#"):
            while text[i:line_end].rstrip().endswith("\\"):
                i, line_end = line_end + 1, (text.find("\n", line_end + 1) + len(text) + 1) % (len(text) + 1)
            i = line_end + 1
        elif line.startswith("namespace") and "{" in line and deep:
            brace = text.index("{", i)
            end = without_body(text, brace)
            if not INTERNAL.match(line):
                found += declarations(text[brace + 1:end - 1])
            comment, i = [], end
        else:
            end, inner, depth = i, "", 0
            while end < len(text) and (depth > 0 or text[end] not in ";{"):  # = {} of an argument is no body
                depth += (text[end] == "(") - (text[end] == ")")
                end += 1
            head, is_type = text[i:end], re.match(r"\s*(?:template\s*<.*?>\s*)?(?:class|struct|enum)\b", text[i:end], re.S)
            if end < len(text) and text[end] == "{":
                close = without_body(text, end)
                inner = text[end + 1:close - 1]
                end = close
                if not is_type and "template" not in head and "=" in head and "(" not in head.split("=")[0]:
                    head = head.split("=")[0]
            stop = text.find("\n", end)
            behind = re.search(r"//\s*(.*)", text[end:len(text) if stop < 0 else stop])
            words = comment + ([behind[1]] if behind else [])
            head = re.sub(r"\)\s*(const)?\s*(override)?\s*=\s*(default|delete|0)\s*$", r") \1", re.sub(r"//.*", "", head))
            found.append((tidy(re.split(r"\)\s*:\s*\w+_?\(", head)[0] + (")" if re.search(r"\)\s*:\s*\w+_?\(", head) else "")),
                          tidy(" ".join(words)), inner if is_type else ""))
            comment, i = [], (len(text) if stop < 0 else stop) + 1
    return [f for f in found if f[0] and not f[0].startswith(("}", "extern", "friend", "using namespace", ";"))]


def escaped(text):
    return text.replace("|", "\\|").replace("<!--", "")


def page():
    lines = ["# C++ reference", "", "What `#include <costate/costate.h>` declares, in the words of the headers. The guides show how things are used.", ""]
    for title, names in headers():
        lines += [f"## {title[0].upper() + title[1:]}", ""]
        for name in names:
            text = (ROOT / name).read_text()
            lines += [f"### [{name}](../../{name})", "", escaped(head_of(text)), ""]
            for declaration, comment, inner in declarations(text):
                lines.append(f"- `{declaration}`" + (f": {escaped(comment)}" if comment else ""))
                if inner and not declaration.startswith("enum"):
                    for member, words, _ in members(inner):
                        lines.append(f"  - `{member}`" + (f": {escaped(words)}" if words else ""))
                elif inner:
                    lines[-1] = lines[-1].replace("`" + declaration + "`", f"`{declaration} {{{tidy(re.sub('//.*', '', inner))}}}`")
            lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def main():
    text = page()
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text)
    print(f"{PAGE.relative_to(ROOT)}: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
