"""What the examples share: a command line with --quick and --picture."""
import argparse


def arguments(description, **more):
    """more: name=help of options of a program's own, each with a value."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="fewer iterations, for tests")
    parser.add_argument("--picture", metavar="FILE", help="draw the result")
    for name, text in more.items():
        parser.add_argument(f"--{name}", help=text)
    return parser.parse_args()


def page_beside(picture):
    """Where a replay goes: result.png has result.html."""
    return picture.rsplit(".", 1)[0] + ".html"


def figure(width=7.0, height=3.0, columns=2):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    return plt.subplots(1, columns, figsize=(width, height), layout="constrained")
