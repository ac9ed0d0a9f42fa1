#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "costate/core/error.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/compile/compile_hull.h"
#include "costate/rigid/compile/compile_inertia.h"
#include "tests/expect_error.h"

namespace costate::rigid {
namespace {

using costate::test::expect_error;
using Point = Vec3<double>;

std::vector<Point> cloud(int n) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<Point> points;
  for (int i = 0; i < n; ++i) points.push_back({number(generator), number(generator), number(generator)});
  return points;
}

void expect_hull(const std::vector<Point>& points, const std::vector<Triangle>& faces) {
  std::map<std::pair<int, int>, int> edges;
  for (const Triangle& f : faces) {
    const Point &a = points[std::size_t(f[0])], &b = points[std::size_t(f[1])],
                &c = points[std::size_t(f[2])];
    const Point normal = normalized(cross(b - a, c - a));
    double highest = 0;
    for (const Point& p : points) highest = std::max(highest, dot(normal, p - a));
    EXPECT_LT(highest, 1e-9);  // nothing outside
    for (std::size_t k = 0; k < 3; ++k) ++edges[{f[k], f[(k + 1) % 3]}];
  }
  for (const auto& [edge, count] : edges) {
    EXPECT_EQ(count, 1);
    EXPECT_EQ(edges.count({edge.second, edge.first}), 1u);  // closed
  }
  // Euler: V - E + F = 2 with every face a triangle.
  std::map<int, int> used;
  for (const Triangle& f : faces)
    for (const int i : f) ++used[i];
  EXPECT_EQ(used.size() + faces.size(), edges.size() / 2 + 2);
}

TEST(Hull, EnclosesACloud) {
  for (const int n : {4, 5, 20, 500}) {
    const std::vector<Point> points = cloud(n);
    expect_hull(points, convex_hull(points));
  }
}

TEST(Hull, OfAGridOfPointsIsItsCube) {
  std::vector<Point> points;
  for (int i = 0; i < 216; ++i) points.push_back({double(i % 6), double(i / 6 % 6), double(i / 36)});
  const std::vector<Triangle> faces = convex_hull(points);
  expect_hull(points, faces);
  EXPECT_NEAR(solid_of(points, faces, false).mass, 125, 1e-10);
}

TEST(Hull, OfFlatOrFewPointsIsAnError) {
  expect_error([&] { return convex_hull({}); }, "the points lie in one plane",
               "give the mesh some thickness");
  expect_error(
      [&] {
        return convex_hull({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}});
      },
      "the points lie in one plane", "give the mesh some thickness");
  expect_error(
      [&] {
        return convex_hull({{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}});
      },
      "the points lie in one plane", "give the mesh some thickness");
  std::vector<Point> plane = cloud(50);
  for (Point& p : plane) p.z = 0.3 * p.x - 0.2 * p.y;
  expect_error([&] { return convex_hull(plane); }, "the points lie in one plane",
               "give the mesh some thickness");
}

// A box as a mesh, away from the origin and turned.
MeshSpec box_mesh(const Point& half, const Point& at, const Rotation& turn) {
  MeshSpec mesh{.name = "box"};
  for (int i = 0; i < 8; ++i) {
    const Point corner{i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z};
    mesh.vertices.push_back(at + rotate(turn, corner));
  }
  return mesh;
}

TEST(Mesh, GivesABodyTheMassOfTheSameBox) {
  const Rotation turn = from_euler({0.3, 0.2, -0.5});
  for (const MeshInertia inertia : {MeshInertia::legacy, MeshInertia::convex, MeshInertia::exact}) {
    Spec spec;
    spec.add(box_mesh({0.1, 0.2, 0.3}, {0.5, -0.1, 0.2}, turn));
    spec.meshes[0].inertia = inertia;
    spec.world.body("a").free("a").add(GeomSpec{.type = GeomType::mesh, .pos = {1, 2, 3}, .mesh = "box"});
    spec.world.body("b").free("b").add(
        GeomSpec{.type = GeomType::box, .size = {0.1, 0.2, 0.3}, .pos = {1.5, 1.9, 3.2}, .quat = turn});
    const Model m = compile(spec);
    EXPECT_NEAR(m.bodies[1].mass, 48, 1e-10);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(m.bodies[1].com[i], m.bodies[2].com[i], 1e-13);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(m.bodies[1].inertia[i], m.bodies[2].inertia[i], 1e-12);
    // Centred, with the largest moment (the short side) first; seen through the geom's frame it is where it
    // was.
    const Geom& g = m.geoms[0];
    EXPECT_NEAR(g.size[0], 0.1, 1e-12);
    EXPECT_NEAR(g.size[2], 0.3, 1e-12);
    const Double4& q = g.quat;
    const Double3& v = m.meshes[0].vertices[5];
    const Point there = Point{g.pos[0], g.pos[1], g.pos[2]} +
                        rotate(Rotation{q[0], q[1], q[2], q[3]}, Point{v[0], v[1], v[2]});
    EXPECT_NEAR(norm(there - (Point{1, 2, 3} + spec.meshes[0].vertices[5])), 0, 1e-13);
    EXPECT_EQ(m.meshes[0].hull_faces.size(), 12u);
  }
}

TEST(Mesh, WithoutVolumeCanBeSeenButNotWeighed) {
  Spec spec;
  spec.add(MeshSpec{.name = "leaf", .vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, .faces = {{0, 1, 2}}});
  spec.world.body("a")
      .free("a")
      .sphere("ball", {0, 0, 0}, 0.1)
      .add(GeomSpec{.type = GeomType::mesh, .mass = 0.0, .mesh = "leaf", .contype = 0, .conaffinity = 0});
  EXPECT_NO_THROW(compile(spec));
  spec.body("a").geoms[1].mass = 1.0;
  expect_error([&] { return compile(spec); }, "it has no volume to give a body mass");
}

// A cube of half width 1, whose twelfth triangle is missing.
MeshSpec open_cube() {
  return {.name = "cube",
          .vertices = {{-1, -1, -1},
                       {1, -1, -1},
                       {1, 1, -1},
                       {-1, 1, -1},
                       {-1, -1, 1},
                       {1, -1, 1},
                       {1, 1, 1},
                       {-1, 1, 1}},
          .faces = {{0, 2, 1},
                    {0, 3, 2},
                    {4, 5, 6},
                    {4, 6, 7},
                    {0, 1, 5},
                    {0, 5, 4},
                    {1, 2, 6},
                    {1, 6, 5},
                    {2, 3, 7},
                    {2, 7, 6},
                    {3, 0, 4}}};
}

TEST(Mesh, ExactInertiaNeedsFacesThatAgreeAboutTheOutside) {
  Spec spec;
  MeshSpec mesh = open_cube();
  mesh.inertia = MeshInertia::exact;
  std::swap(mesh.faces[3][1], mesh.faces[3][2]);
  spec.add(mesh);
  spec.world.body("a").free("a").add(GeomSpec{.type = GeomType::mesh, .mesh = "cube"});
  expect_error([&] { return compile(spec); }, "its faces disagree about which side is out");
  spec.meshes[0].inertia = MeshInertia::convex;
  EXPECT_NEAR(compile(spec).bodies[1].mass, 8000, 1e-8);
}

// Mass by MuJoCo: of the tetrahedra from the centre of those from the middle of the surface.
TEST(Mesh, AnOpenSurfaceHasTheMassOfMuJoCos) {
  for (const MeshInertia inertia : {MeshInertia::legacy, MeshInertia::exact}) {
    Spec spec;
    MeshSpec mesh = open_cube();
    mesh.inertia = inertia;
    spec.add(mesh);
    spec.world.body("a").free("a").add(GeomSpec{.type = GeomType::mesh, .mesh = "cube"});
    EXPECT_NEAR(compile(spec).bodies[1].mass, 7284.84848485, 1e-8);
  }
}

// Sizes and places by MuJoCo: of shapes with the mesh's inertia, and around its box.
TEST(Mesh, OtherShapesAreFittedAsMuJoCoDoes) {
  struct Case {
    GeomType type;
    bool around_box;
    double scale;
    Double3 size;
  };
  const double s = 1.5;
  const Double3 box{0.366135741388, 0.643782639015, 1.02067985181},
      around{0.615884603882, 1.05146457494, 1.69102912276};
  for (const Case& c : {Case{GeomType::sphere, false, 1, {0.676866077406, 0, 0}},
                        Case{GeomType::sphere, true, 1, {1.69102912276, 0, 0}},
                        Case{GeomType::capsule, false, 1, {0.504959190202, 0.768200256713, 0}},
                        Case{GeomType::capsule, true, 1, {1.05146457494, 0.639564547818, 0}},
                        Case{GeomType::cylinder, false, 1, {0.504959190202, 1.02067985181, 0}},
                        Case{GeomType::cylinder, true, 1, {1.05146457494, 1.69102912276, 0}},
                        Case{GeomType::box, false, 1, box}, Case{GeomType::box, true, 1, around},
                        Case{GeomType::box, false, s, {s * box[0], s * box[1], s * box[2]}},
                        Case{GeomType::ellipsoid, false, 1, box}}) {
    Spec spec;
    spec.compiler.fit_box = c.around_box;
    spec.add(
        MeshSpec{.name = "wedge", .vertices = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0.3, 0.2, 3}, {1, 1, 0.5}}});
    spec.world.body("a").free("a").add(
        GeomSpec{.type = c.type, .pos = {0.1, 0.2, 0.3}, .mesh = "wedge", .fit_scale = c.scale});
    const Geom geom = compile(spec).geoms[0];
    EXPECT_EQ(geom.mesh, -1);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(geom.size[i], c.size[i], 1e-7) << int(c.type) << i;
    const Double3 place = c.around_box ? Double3{0.503823013695, 0.784550015868, 1.65101669849}
                                       : Double3{0.518750002762, 0.843750000527, 1.09687499989};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(geom.pos[i], place[i], 1e-7) << int(c.type) << i;
  }
}

TEST(Mesh, APlaneIsNotFitted) {
  Spec spec;
  spec.add(open_cube());
  spec.world.add(GeomSpec{.type = GeomType::plane, .mesh = "cube"});
  expect_error([&] { return compile(spec); }, "a plane or height field is not fitted to a mesh");
}

}  // namespace
}  // namespace costate::rigid
