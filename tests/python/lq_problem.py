"""A linear-quadratic problem with controls in a box, whose solution and gradient are known to 12 digits or more."""
import numpy as np

STEPS = 10
PARTS = dict(A=np.array([[1, 0.1, 0], [-0.2, 0.95, 0.3], [0, 0, 0.8]]), B=np.array([[0, 0.005], [0, 0.1], [0.5, 0]]),
             Q=np.diag([1, 0.5, 0.1]), R=np.array([[0.2, 0.05], [0.05, 0.4]]), Qf=np.diag([10.0, 1, 1]), x0=np.array([1, -0.5, 0.25]),
             lower=np.full(2, -0.25), upper=np.full(2, 0.25))
VALUE = 4.513401077519211
# Of |u|^2 / 2, with respect to x0, R and Qf.
LOSS = 0.319547671038481
X0_BAR = [0.254790351200057, 0.37067638100423067, 0.27066812077779]
R_BAR = [[-0.11411323777263631, 0.1614365181698226], [0.1614365181698226, -0.21267794727475947]]
QF_BAR = [[0.00776140465968965, -0.022587698137756025, 0.0030779684615745637],
          [-0.022587698137756025, 0.053724368126819654, -0.010491435083079873],
          [0.0030779684615745637, -0.010491435083079873, 0.0010247995406228397]]


def batch(count, seed=3):
    """Problems that differ in everything, and a bound that is shared."""
    rng = np.random.default_rng(seed)
    x0 = PARTS["x0"] + 0.1 * rng.standard_normal((count, 3))
    A = PARTS["A"] + 0.01 * rng.standard_normal((count, 1, 3, 3))
    root = rng.standard_normal((count, STEPS, 3, 3))
    return dict(PARTS, x0=x0, A=A, Q=PARTS["Q"] + 0.1 * root @ np.swapaxes(root, -1, -2), c=0.01 * rng.standard_normal((STEPS, 3)),
                Qf=np.broadcast_to(PARTS["Qf"], (count, 3, 3)))
