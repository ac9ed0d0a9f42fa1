"""A physics written in C++ (examples/plugin/bead.cpp), used from Python: what friction and strength have a bead where it should be?

    python own_plugin.py build/libbead.so
"""
import sys

import numpy as np

import costate


def main(library="build/libbead.so"):
    # [use]
    bead = costate.load_plugin(library)
    sim = bead.rollout(steps=300, keep=30)
    seen = sim.simulate([1.0, 0.0], np.full((300, 1), 0.1), {"strength": 5.0, "friction": 0.4})["q"]

    found = costate.fit(sim, {"q": seen}, {"strength": 4.0, "friction": 0.2}, u=np.full((300, 1), 0.1), x0=[1.0, 0.0])
    print(found)
    # [/use]
    return bead, found


if __name__ == "__main__":
    main(*sys.argv[1:])
