"""Runs SciPy's tests of solve_ivp on costate's, and prints {test: outcome} as JSON on the last line.

    python tests/python/scipy_suite.py [arguments of pytest]
"""
import json
import sys
from pathlib import Path

import pytest
import scipy.integrate._ivp.tests

import costate

FILE = Path(scipy.integrate._ivp.tests.__file__).with_name("test_ivp.py")


class Plugin:
    """What that file expects of SciPy's own pytest plugins, and the function under test."""

    def __init__(self):
        self.outcomes = {}

    def pytest_configure(self, config):
        for name in ("thread_unsafe", "fail_slow", "slow"):
            config.addinivalue_line("markers", f"{name}: a mark of SciPy's")

    @pytest.fixture
    def num_parallel_threads(self):
        return 1

    def pytest_collection_modifyitems(self, items):
        for item in items:
            item.module.solve_ivp = costate.solve_ivp

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.split("::")[-1]
        if report.when == "call" or report.failed:
            self.outcomes[name] = report.outcome


def main(arguments):
    plugin = Plugin()
    pytest.main(["-q", "-p", "no:cacheprovider", "--tb=short", "-W", "ignore::DeprecationWarning", str(FILE), *arguments],
                plugins=[plugin])
    print(json.dumps(plugin.outcomes))


if __name__ == "__main__":
    main(sys.argv[1:])
