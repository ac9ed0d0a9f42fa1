"""Masses and springs, some of them muscles; soft bodies and cloth."""
from . import _core
from ._recipe import remembered

__all__ = ["ball_mesh", "block_mesh", "bodies", "cloth_mesh", "contact_friction", "contact_pair", "contact_surface",
           "mass_spring", "read_mesh", "rod_mesh", "shirt_mesh", "tube_mesh", "write_mesh"]

mass_spring = remembered(_core.soft.mass_spring, "costate.soft")
bodies = remembered(_core.soft.bodies, "costate.soft")
ball_mesh = _core.soft.ball_mesh
cloth_mesh = _core.soft.cloth_mesh
block_mesh = _core.soft.block_mesh
contact_pair = _core.soft.contact_pair
contact_surface = _core.soft.contact_surface
contact_friction = _core.soft.contact_friction
read_mesh = _core.soft.read_mesh
rod_mesh = _core.soft.rod_mesh
shirt_mesh = _core.soft.shirt_mesh
tube_mesh = _core.soft.tube_mesh
write_mesh = _core.soft.write_mesh
