"""One frame of a Recording as an array of pixels, without a window, a browser or a GPU.

    pixels = costate.picture.image(costate.rigid.record(model, trajectory), frame=-1)     # (height, width, 3), uint8

Each pixel is a ray from the eye; it takes the colour of the first shape it meets, brighter the more the surface faces the light. Shapes
are moved to the origin of their own axes, where each is a formula: sphere, ellipsoid, box, cylinder, capsule, plane. A mesh is drawn as the
ellipsoid that has its extents. The floor is a chequerboard of half metres, so that motion along it is seen.
"""
import numpy as np

SKY, LIGHT_TILE, DARK_TILE = np.array([236, 240, 245.0]), np.array([222, 226, 230.0]), np.array([196, 202, 209.0])
LIGHT = np.array([0.35, -0.45, 0.82]) / np.linalg.norm([0.35, -0.45, 0.82])
FAR = np.inf


def _rotation(q):
    w, x, y, z = q / np.linalg.norm(q)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def _nearest_root(a, b, c):
    """The smaller root of a t^2 + 2 b t + c = 0 that lies ahead."""
    with np.errstate(invalid="ignore", divide="ignore"):
        t = (-b - np.sqrt(b * b - a * c)) / a
    return np.where(t > 1e-6, t, FAR)  # comparisons with nan are false


def _ellipsoid(o, d, half):
    o, d = o / half, d / half
    t = _nearest_root(np.sum(d * d, -1), np.sum(o * d, -1), np.sum(o * o, -1) - 1)
    return t, lambda at: at / half**2


def _box(o, d, half):
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (-half - o) / d, (half - o) / d
    enter, leave = np.minimum(a, b).max(-1), np.maximum(a, b).min(-1)
    t = np.where((enter <= leave) & (enter > 1e-6), enter, FAR)

    def normal(at):
        face = np.abs(at / half)
        return np.where(face == face.max(-1, keepdims=True), np.sign(at), 0.0)
    return t, normal


def _cylinder(o, d, radius, half, caps):
    """Along z. caps: flat ones; otherwise round ones, a capsule."""
    side = _nearest_root(np.sum(d[..., :2]**2, -1), np.sum(o[..., :2] * d[..., :2], -1), np.sum(o[..., :2]**2, -1) - radius**2)
    with np.errstate(invalid="ignore"):
        height = o[..., 2] + np.where(np.isfinite(side), side, 0) * d[..., 2]
    t = np.where(np.abs(height) <= half, side, FAR)
    for end in (-half, half):
        if caps:
            with np.errstate(divide="ignore", invalid="ignore"):
                cap = (end - o[..., 2]) / d[..., 2]
                inside = np.sum((o[..., :2] + cap[..., None] * d[..., :2])**2, -1) <= radius**2
            cap = np.where(inside & (cap > 1e-6), cap, FAR)
        else:
            from_end = o - np.array([0, 0, end])
            cap = _nearest_root(np.sum(d * d, -1), np.sum(from_end * d, -1), np.sum(from_end**2, -1) - radius**2)
        t = np.minimum(t, cap)

    def normal(at):
        if not caps:
            return at - np.stack([0 * at[..., 0], 0 * at[..., 0], np.clip(at[..., 2], -half, half)], -1)
        flat = np.abs(at[..., 2:]) > half * (1 - 1e-6)
        return np.where(flat, np.sign(at) * np.array([0, 0, 1.0]), at * np.array([1.0, 1.0, 0]))
    return t, normal


def _meet(kind, size, o, d):
    if kind == "box":
        return _box(o, d, size)
    if kind in ("cylinder", "capsule"):
        return _cylinder(o, d, size[0], size[1], kind == "cylinder")
    return _ellipsoid(o, d, np.broadcast_to(size, (3,)))


def image(recording, frame=-1, width=320, height=240, eye=None, target=None, field_of_view=40.0):
    """Pixels (height, width, 3) of one frame. eye, target: where from and where to; None: so that every body is seen, from the side."""
    shapes = [s for s in (recording.shape(i) for i in range(len(recording.bodies))) if s["kind"] != "plane" and len(s["size"])]
    poses = [s["poses"][frame if len(s["poses"]) > 1 else 0].astype(float) for s in shapes]
    up = {"y": np.array([0, 1.0, 0]), "z": np.array([0, 0, 1.0])}[recording.up]
    moving = [p[:3] for p, s in zip(poses, shapes) if len(s["poses"]) > 1] or [p[:3] for p in poses] or [np.zeros(3)]
    if target is None:
        target = (np.min(moving, 0) + np.max(moving, 0)) / 2
    target = np.asarray(target, dtype=float)
    if eye is None:
        reach = max(1.0, np.linalg.norm(np.ptp(moving, 0)) + 0.5)
        eye = target + 1.6 * reach * (np.array([0.35, -1.0, 0.3]) if recording.up == "z" else np.array([0.35, 0.3, 1.0]))
    eye = np.asarray(eye, dtype=float)
    ahead = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(ahead, up)
    right /= np.linalg.norm(right)
    above = np.cross(right, ahead)
    half = np.tan(np.radians(field_of_view) / 2)
    y, x = np.meshgrid(np.linspace(half, -half, height), np.linspace(-half, half, width) * width / height, indexing="ij")
    d = ahead + x[..., None] * right + y[..., None] * above
    d /= np.linalg.norm(d, axis=-1, keepdims=True)

    # The floor first, then whatever is nearer.
    with np.errstate(divide="ignore", invalid="ignore"):
        nearest = (recording.ground - eye @ up) / (d @ up)
    nearest = np.where(nearest > 1e-6, nearest, FAR)
    on_floor = eye + np.where(np.isfinite(nearest), nearest, 0)[..., None] * d
    across = np.flatnonzero(up == 0)
    tile = np.floor(on_floor[..., across] / 0.5).sum(-1) % 2
    floor = np.where(tile[..., None] > 0, DARK_TILE, LIGHT_TILE)
    fog = np.clip(nearest / 30, 0, 1)[..., None]
    colours = np.where(np.isfinite(nearest)[..., None], floor + (SKY - floor) * fog, SKY)
    light = LIGHT if recording.up == "z" else LIGHT[[0, 2, 1]]
    for shape, pose in zip(shapes, poses):
        r = _rotation(pose[3:])
        t, normal = _meet(shape["kind"], shape["size"], (eye - pose[:3]) @ r, d @ r)
        seen = t < nearest
        if not seen.any():
            continue
        n = normal(((eye - pose[:3]) + t[seen][:, None] * d[seen]) @ r) @ r.T
        n /= np.linalg.norm(n, axis=-1, keepdims=True)
        shade = 0.45 + 0.55 * np.clip(n @ light, 0, 1)
        colours[seen] = shade[:, None] * shape["colour"]
        nearest[seen] = t[seen]
    return np.clip(colours, 0, 255).astype(np.uint8)
