"""Contact against the IPC Toolkit (pip install ipctk): distances, barrier, mollifier and friction of every kind of pair, and
no intersection at any step of any scene."""
import tomllib
from pathlib import Path

import numpy as np
import pytest

import costate

ipctk = pytest.importorskip("ipctk")

GATE = 1e-13
TRIANGLE = [[0, 0, 0], [1, 0.1, 0.05], [0.2, 0.9, -0.1]]
EDGE = [[0, 0, 0], [1, 0.1, 0.2]]
# One pair of each kind: a point over the face, three edges and three corners; edges that cross, and their ends.
POINTS = [[0.35, 0.3, 0.25], [0.5, -0.2, 0.1], [0.8, 0.7, 0.1], [-0.2, 0.5, 0.1], [-0.2, -0.15, 0.1], [1.3, 0.05, 0.1], [0.2, 1.3, 0.1]]
EDGES = [[[0.3, -0.5, 0.4], [0.6, 0.7, 0.3]], [[0.5, 0.3, 0.2], [0.6, 0.9, 0.6]], [[0.6, 0.9, 0.6], [0.5, 0.3, 0.2]],
         [[-0.1, -0.3, 0.3], [-0.6, -0.2, 0.9]], [[-0.6, -0.2, 0.9], [-0.1, -0.3, 0.3]], [[1.3, 0.2, 0.3], [2, 0.9, 0.3]],
         [[2, 0.9, 0.3], [1.3, 0.2, 0.3]]]
POINT_PAIRS = [[p, *TRIANGLE] for p in POINTS]
EDGE_PAIRS = [[*EDGE, *b] for b in EDGES] + [[*b, *EDGE] for b in EDGES[1:3]]


def random_pairs(count):
    rng = np.random.default_rng(3)
    return [(rng.standard_normal((4, 3)), bool(k % 2)) for k in range(count)]


ALL = [(np.array(p, float), False) for p in POINT_PAIRS] + [(np.array(p, float), True) for p in EDGE_PAIRS] + random_pairs(60)


def near(a, b, gate=GATE):
    a, b = np.asarray(a, float), np.asarray(b, float)
    np.testing.assert_allclose(a, b, rtol=0, atol=gate * max(np.abs(b).max(), 1e-300))


def squared_distance(x, edges):
    name = "edge_edge_distance" if edges else "point_triangle_distance"
    return getattr(ipctk, name)(*x), getattr(ipctk, name + "_gradient")(*x), getattr(ipctk, name + "_hessian")(*x)


def barrier_of(x, edges, reach):
    """Value, gradient and Hessian of the barrier of the distance, from the toolkit's parts."""
    square, g, H = squared_distance(x, edges)
    d = np.sqrt(square)
    b, b1, b2 = ipctk.barrier(d, reach), ipctk.barrier_first_derivative(d, reach), ipctk.barrier_second_derivative(d, reach)
    outer = np.outer(g, g)
    return d, b, b1 / (2 * d) * g, (b2 / (4 * square) - b1 / (4 * d**3)) * outer + b1 / (2 * d) * H


def test_every_kind_of_pair_is_here():
    kinds = {str(ipctk.edge_edge_distance_type(*x) if edges else ipctk.point_triangle_distance_type(*x)) for x, edges in ALL}
    assert len(kinds) == 16, kinds  # 7 of a point and a triangle, 9 of two edges


@pytest.mark.parametrize("number", range(len(ALL)))
def test_barriers_have_the_toolkits_distance_gradient_and_hessian(number):
    x, edges = ALL[number]
    reach = 1.5 * np.sqrt(squared_distance(x, edges)[0])
    ours = costate.soft.contact_pair(x, edges=edges, distance=reach, stiffness=7.0)
    d, b, g, H = barrier_of(x, edges, reach)
    near(ours["distance"], d)
    near(ours["energy"], 7 * b)
    near(ours["gradient"].ravel(), 7 * g)
    # The toolkit's own formula of the Hessian of slender pairs loses digits: so many as the sum of its terms cancels.
    near(ours["hessian"], 7 * H, GATE if number < 16 else 1e-11)


# m(s) = 1 - (1 - s)^3 where the toolkit has s (2 - s): s itself, its gradient and its Hessian are the toolkit's.
def test_the_mollifier_is_a_function_of_the_toolkits_cross_product():
    rng = np.random.default_rng(5)
    for _ in range(20):
        x = np.array([[0, 0, 0], [1, 0, 0], [0.1, -0.01, 0.05], [0.95, 0.012, 0.052]]) + 1e-3 * rng.standard_normal((4, 3))
        rest = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1], [0.9, 0, 1.0]])
        e = ipctk.edge_edge_mollifier_threshold(*rest)
        near(e, 1e-3 * np.sum((rest[1] - rest[0]) ** 2) * np.sum((rest[3] - rest[2]) ** 2))
        q, gq, Hq = (f(*x) for f in (ipctk.edge_edge_cross_squarednorm, ipctk.edge_edge_cross_squarednorm_gradient,
                                     ipctk.edge_edge_cross_squarednorm_hessian))
        assert q < e
        r = 1 - q / e
        m, m1, m2 = 1 - r**3, 3 * r**2 / e, -6 * r / e**2
        _, b, gb, Hb = barrier_of(x, True, 0.1)
        ours = costate.soft.contact_pair(x, edges=True, distance=0.1, parallel=e)
        near(ours["energy"], m * b)
        near(ours["gradient"].ravel(), m * gb + m1 * b * gq, 1e-12)
        mixed = m1 * np.outer(gb, gq)
        near(ours["hessian"], m * Hb + mixed + mixed.T + b * (m1 * Hq + m2 * np.outer(gq, gq)), 1e-11)


@pytest.mark.parametrize("number", range(len(ALL)))
def test_friction_is_the_toolkits(number):
    x, edges = ALL[number]
    rng = np.random.default_rng(number)
    square, gradient, _ = squared_distance(x, edges)
    d = np.sqrt(square)
    reach, friction, slip = 1.5 * d, 0.4, 0.01
    normal_force = -ipctk.barrier_first_derivative(d, reach)
    # Weights and normal from the toolkit's gradient: grad_i d^2 = 2 w_i c.
    g = gradient.reshape(4, 3)
    c = g[np.argmax(np.abs(g).sum(1))]
    c = c / np.linalg.norm(c)
    w = g @ c / (2 * d)
    for size in (1e-3, 1.0):  # it sticks; it slips
        moved = size * rng.standard_normal((4, 3))
        u = w @ moved
        u -= (c @ u) * c
        f = ipctk.smooth_friction_f1_over_x(np.linalg.norm(u), slip)
        ours = costate.soft.contact_friction(x, moved, friction, slip, edges=edges, distance=reach)
        near(ours, -friction * normal_force * f * np.outer(w, u), 1e-12)


# Two sheets that lie on each other, no edges of them nearly parallel: the toolkit's mollifier is another one.
@pytest.mark.parametrize("weighted", [False, True])
def test_barriers_of_surfaces_are_the_toolkits_by_area_too(weighted):
    rng = np.random.default_rng(2)
    rest, faces = (np.array(a) for a in costate.soft.cloth_mesh([0.2, 0.2], [6, 6]))
    turn = np.array([[np.cos(0.3), -np.sin(0.3), 0], [np.sin(0.3), np.cos(0.3), 0], [0, 0, 1]])
    rest = np.vstack([rest, rest * [1.1, 0.9, 1] @ turn.T + [0.01, -0.02, 0.5]])
    faces = np.asfortranarray(np.vstack([faces, faces + len(rest) // 2]), dtype=np.int32)
    x = rest + 5e-4 * rng.standard_normal(rest.shape)
    x[len(x) // 2:, 2] -= 0.495
    reach, stiffness = 0.01, 400.0
    edges = ipctk.edges(faces)
    mesh = ipctk.CollisionMesh(np.asfortranarray(rest), edges, faces)
    collisions = ipctk.NormalCollisions()
    collisions.use_area_weighting = weighted
    collisions.build(mesh, np.asfortranarray(x), reach)
    assert len(collisions) > 100
    energy, gradient = 0.0, np.zeros_like(x)
    for k in range(len(collisions)):
        c = collisions[k]
        at = c.dof(np.asfortranarray(x), edges, faces)
        d = np.sqrt(c.compute_distance(at))
        energy += c.weight * ipctk.barrier(d, reach)
        slope = c.weight * ipctk.barrier_first_derivative(d, reach) / (2 * d) * c.compute_distance_gradient(at)
        assert not c.is_mollified() or c.mollifier(at) == 1
        for i, v in enumerate(c.vertex_ids(edges, faces)[:c.num_vertices()]):
            gradient[v] += slope[3 * i:3 * i + 3]
    ours = costate.soft.contact_surface(rest, faces, x, distance=reach, stiffness=stiffness, area_weighted=weighted)
    near(ours["energy"], stiffness * energy)
    near(ours["gradient"], stiffness * gradient, 1e-12)


SCENES = sorted(p.name for p in (Path(__file__).parents[2] / "scenes").glob("*.toml") if "soft" in tomllib.loads(p.read_text()))


@pytest.mark.parametrize("name", SCENES)
def test_no_scene_has_an_intersection_at_any_step(name):
    table = tomllib.loads((Path(__file__).parents[2] / "scenes" / name).read_text())
    dt = table["run"].get("dt", 0.01)
    recording = costate.load(costate.scene_file(name), {"view.frames_per_second": 1 / dt}).run().recording
    assert recording.frames > 1
    faces, positions, first = [], [], 0
    for part in recording.meshes:
        triangles, x = recording.mesh(part)
        faces.append(triangles + first)
        positions.append(x)
        first += x.shape[1]
    faces = np.asfortranarray(np.vstack(faces), dtype=np.int32)
    positions = np.concatenate(positions, axis=1).astype(float)
    edges = ipctk.edges(faces)
    mesh = ipctk.CollisionMesh(np.asfortranarray(positions[0]), edges, faces)
    for k, x in enumerate(positions):
        assert not ipctk.has_intersections(mesh, np.asfortranarray(x)), f"step {k}"
