#!/usr/bin/env python3
"""Writes docs/python_reference.md from the type stubs and the docstrings of the package. Needs nothing but the sources.

    python python/reference.py            write
    python python/reference.py --check    exit with 1 if the page is not up to date
"""
import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python/costate"
PAGE = ROOT / "docs/python_reference.md"
# Modules in the order of the page: title, source, whether only what costate itself exports is shown.
MODULES = [("costate", PACKAGE / "_core/__init__.pyi", True), ("costate", PACKAGE / "trace.py", True),
           ("costate", PACKAGE / "traced.py", True),
           ("costate", PACKAGE / "optimise.py", True), ("costate", PACKAGE / "fit.py", True),
           ("costate", PACKAGE / "linearise.py", True), ("costate", PACKAGE / "policy.py", True),
           ("costate", PACKAGE / "ivp.py", True), ("costate", PACKAGE / "files.py", True), ("costate", PACKAGE / "error.py", True),
           ("What solve_ivp returns", PACKAGE / "ivp_result.py", False),
           ("costate.loss", PACKAGE / "_core/loss.pyi", False), ("costate.loss", PACKAGE / "loss.py", False),
           ("costate.rigid", PACKAGE / "_core/rigid.pyi", False), ("costate.grid", PACKAGE / "_core/grid.pyi", False),
           ("costate.grid", PACKAGE / "grid.py", False),
           ("costate.fluid", PACKAGE / "_core/fluid.pyi", False), ("costate.fluid", PACKAGE / "fluid.py", False),
           ("costate.soft", PACKAGE / "_core/soft.pyi", False), ("costate.mpm", PACKAGE / "_core/mpm.pyi", False),
           ("costate.md", PACKAGE / "_core/md.pyi", False), ("costate.md", PACKAGE / "md.py", False),
           ("costate.estimate", PACKAGE / "_core/estimate.pyi", False),
           ("costate.control", PACKAGE / "_core/control.pyi", False),
           ("costate.learn", PACKAGE / "learn.py", False), ("costate.hybrid", PACKAGE / "hybrid.py", False),
           ("costate.gpu", PACKAGE / "gpu.py", False), ("costate.torch", PACKAGE / "torch.py", False),
           ("costate.jax", PACKAGE / "jax.py", False), ("costate.gym", PACKAGE / "gym.py", False),
           ("costate.cluster", PACKAGE / "cluster/jobs.py", False), ("costate.cluster", PACKAGE / "cluster/pool.py", False),
           ("costate.cluster", PACKAGE / "cluster/threads.py", False), ("costate.cluster", PACKAGE / "cluster/processes.py", False),
           ("costate.cluster", PACKAGE / "cluster/ray.py", False),
           ("costate.tosses", PACKAGE / "tosses.py", False), ("costate.picture", PACKAGE / "picture.py", False),
           ("costate.plot", PACKAGE / "plot.py", False)]


# Classes that others extend on the page.
DOCUMENTED_BASES = {"Optimum", "LeastSquares"}


def exported():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    lists = [n.value for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "__all__"]
    return set(ast.literal_eval(lists[0]))


def text(node):
    return (ast.get_docstring(node) or "").strip()


def signature(node, owner=""):
    arguments = ast.unparse(node.args)
    arguments = arguments.removeprefix("self, ").removeprefix("self")
    arguments = arguments.replace("numpy.typing.ArrayLike", "ArrayLike").replace("numpy.ndarray", "ndarray")
    result = f" -> {ast.unparse(node.returns)}".replace("numpy.", "") if node.returns and ast.unparse(node.returns) != "None" else ""
    return f"{owner}{node.name}({arguments}){result}"


def block(body):
    return f"\n```text\n{body}\n```\n" if "\n" in body else (f"\n{body}\n" if body else "")


def is_property(node):
    return any(ast.unparse(d) == "property" for d in node.decorator_list)


def is_setter(node):
    return any(ast.unparse(d).endswith(".setter") for d in node.decorator_list)


def written_beside(source, node):
    """The words after #: on the line where a declaration ends."""
    return source.splitlines()[node.end_lineno - 1].partition("#:")[2].strip()


def head_of_class(node):
    own = [ast.unparse(b) for b in node.bases if isinstance(b, ast.Name) and not b.id.startswith("_")]
    return f"### class `{node.name}`" + (f", which extends `{own[0]}`" if own and own[0] in DOCUMENTED_BASES else "")


def fields(source, node):
    """The public attributes that a class declares in its body."""
    for member in node.body:
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name) and not member.target.id.startswith("_"):
            said = written_beside(source, member)
            yield f"- `.{member.target.id}`" + (f": {said}" if said else "")


def entries(path, names):
    """Markdown of the public functions and classes of a file."""
    source = path.read_text()
    for node in ast.parse(source).body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        if (names is not None and node.name not in names) or not text(node):
            continue
        if isinstance(node, ast.FunctionDef):
            yield node.name, f"### `{signature(node)}`\n{block(text(node))}"
            continue
        lines = [f"{head_of_class(node)}\n{block(text(node))}", *fields(source, node)]
        for member in node.body:
            if not isinstance(member, ast.FunctionDef) or (member.name.startswith("_") and member.name != "__getitem__"):
                continue
            if is_setter(member):
                continue
            head = f"`.{member.name}`" if is_property(member) else f"`{signature(member, '.')}`"
            first = text(member).replace("\n\n", "\n").split("\n")
            lines.append(f"- {head}" + (f": {first[0]}" if first[0] else ""))
            lines += [f"  `{more.strip()}`" for more in first[1:] if more.strip()]
        yield node.name, "\n".join(lines) + "\n"


def page():
    parts = ["# Python reference\n", "Written by `python/reference.py` from the type stubs and docstrings; the guide is [python.md](python.md).\n"]
    title = None
    names = exported() | {"Trajectory"}
    for module, path, only_exported in MODULES:
        if module != title:
            parts.append(f"## {module}\n")
            title = module
        parts += [body for _, body in sorted(entries(path, names if only_exported else None))]
    return "\n".join(parts)


if __name__ == "__main__":
    wanted = page()
    if "--check" in sys.argv[1:]:
        sys.exit(0 if PAGE.exists() and PAGE.read_text() == wanted else f"{PAGE} is not up to date: run python/reference.py")
    PAGE.write_text(wanted)
