"""Fields on a grid, one function per equation. What cells have of their own is an array (ny, nx), or a flat one."""
import numpy.typing as npt

from . import _core
from ._recipe import remembered

__all__ = ["burgers", "gray_scott", "heat", "own", "shallow_water", "system", "wave"]

system = remembered(_core.grid.system, "costate.grid")
own = remembered(_core.grid.own, "costate.grid")


def wave(nx=64, ny=64, *, dx=1.0, dt=0.5, speed: npt.ArrayLike = 1.0, damping=0.0, sources=()):
    """The wave equation u'' = speed^2 lap u - damping u' + source on nx x ny cells, u = 0 outside.

    state      'u', 'v', (ny * nx,) each, x fastest
    control    'source', one number for each of the cells `sources` (j * nx + i)
    parameter  'speed' (ny * nx,), 'damping', 'dx', 'dt'

    speed is one number, or one per cell. Stable for speed dt / dx < 0.707, which is checked in every run; dt = 0
    takes half of that.
    """
    return system("wave", nx, ny, dx=dx, dt=dt, parameters={"speed": speed, "damping": damping},
                  sources=list(sources))


def heat(nx=64, ny=64, *, dx=1.0, dt=0.2, conductivity: npt.ArrayLike = 1.0, capacity=1.0, source: npt.ArrayLike = 0.0, west=("gradient", 0.0),
         east=("gradient", 0.0), south=("gradient", 0.0), north=("gradient", 0.0), heaters=()):
    """The heat equation capacity dT/dt = div(conductivity grad T) + source on nx x ny cells.

    west, ...  ('temperature', T) on the side, ('gradient', dT/dn) across it, or 'periodic'
    state      'T', (ny * nx,), x fastest
    control    'heater', one number for each of the cells `heaters` (j * nx + i)
    parameter  'conductivity' and 'source' (ny * nx,), 'capacity', 'west', 'east', 'south', 'north', 'dx', 'dt'

    conductivity and source are one number, or one per cell. Stable for dt <= capacity dx^2 / (4 conductivity),
    which is checked in every run; dt = 0 takes half of that.
    """
    return system("heat", nx, ny, dx=dx, dt=dt,
                  parameters={"conductivity": conductivity, "source": source, "capacity": capacity},
                  sides={"west": west, "east": east, "south": south, "north": north}, sources=list(heaters))


def shallow_water(nx=64, ny=64, *, dx=1.0, dt=0.1, depth=1.0, gravity=9.81, drag=0.0, periodic_x=False,
                  periodic_y=False, sources=(), rotation=0.0):
    """Long waves u' = -gravity grad eta - drag u + rotation (v, -u), eta' = -div((depth + eta) u) + rain on nx x ny cells.

    state      'eta' in the middle of cells, 'u' on west faces, 'v' on south faces, (ny * nx,) each, x fastest
    control    'rain', one number for each of the cells `sources` (j * nx + i)
    parameter  'depth' (ny * nx,), 'gravity', 'drag', 'dx', 'dt', 'rotation' (Coriolis)

    depth is one number, or one per cell. Sides that are not periodic are walls. Stable for
    sqrt(gravity depth) dt / dx <= 0.707, which is checked in every run; dt = 0 takes half of that.
    """
    sides = {side: "periodic" if wraps else "wall"
             for side, wraps in (("west", periodic_x), ("east", periodic_x), ("south", periodic_y), ("north", periodic_y))}
    return system("shallow_water", nx, ny, dx=dx, dt=dt, parameters={"depth": depth, "gravity": gravity, "drag": drag, "rotation": rotation},
                  sides=sides, sources=list(sources))


def burgers(nx=128, ny=10, *, dx=1.0, dt=0.1, viscosity=0.01, source=0.0):
    """Burgers' equation u' + u du/dx = viscosity d2u/dx2 + source on ny lines of nx cells, each of which wraps.

    state      'u', (ny * nx,), x fastest
    parameter  'source' (ny * nx,), 'viscosity', 'dx', 'dt'

    Traced back along its own speed, for Courant numbers up to 3; the gradient is exact, and piecewise. Stable for
    viscosity dt / dx^2 <= 0.5, which is checked in every run; dt = 0 takes half of that, or of dx / 1.
    """
    return system("burgers", nx, ny, dx=dx, dt=dt, parameters={"viscosity": viscosity, "source": source})


def gray_scott(nx=64, ny=64, *, dx=1.0, dt=1.0, feed=0.04, kill=0.06, diffusivity_u=0.16, diffusivity_v=0.08, sources=()):
    """Two substances that react and diffuse, u' = Du lap u - u v^2 + feed (1 - u), v' = Dv lap v + u v^2 - (feed + kill) v.

    state      'u', 'v', (ny * nx,) each, x fastest; both axes wrap
    control    'drop', v per second into each of the cells `sources` (j * nx + i)
    parameter  'feed' (ny * nx,), 'kill', 'diffusivity_u', 'diffusivity_v', 'dx', 'dt'

    feed is one number, or one per cell. Stable for 4 diffusivity dt / dx^2 <= 1, which is checked in every run.
    """
    return system("gray_scott", nx, ny, dx=dx, dt=dt,
                  parameters={"feed": feed, "kill": kill, "diffusivity_u": diffusivity_u, "diffusivity_v": diffusivity_v},
                  sources=list(sources))
