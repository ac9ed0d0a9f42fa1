"""Value and gradient of many worlds, computed by many workers, with the same bits from any of them.

    import costate.cluster as cluster

    job = cluster.Job(sim, loss, worlds=65536, block=256, seed=7, x0=starts)
    with cluster.processes(4) as pool:                      # or threads(), ray()
        value, grad = pool.value_and_grad(job, {"geom/foot/friction": 0.8})
        best = costate.minimize(pool.objective(job), {"geom/foot/friction": 0.8})
        print(pool.report)

A block of worlds is a pure function of theta and of the numbers of its worlds, so a block that is lost with its worker is simply
computed again. Blocks are added in the order of a fixed binary tree, so who computed what, and when, does not show. With
`log="fit.log"` a run that was killed goes on where it was when it is run again.
"""
from .jobs import FunctionJob, Job, ResidualJob, SceneJob
from .pool import Fit, Pool, Report, Trained
from .processes import processes
from .ray import ray
from .threads import threads

__all__ = ["Fit", "FunctionJob", "Job", "Pool", "Report", "ResidualJob", "SceneJob", "Trained", "processes", "ray", "threads"]
