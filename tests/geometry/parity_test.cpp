// The same contacts as MuJoCo, pair by pair: reference.json holds what PyPI `mujoco` found
// (make_reference.py).
//
// Number, order, distances, positions and frames agree. Pairs that MuJoCo solves by iterating (GJK/EPA, run
// there to 1e-12) have wider gates, stated with the pair.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "costate/geometry/collide.h"
#include "costate/geometry/contact_frame.h"
#include "costate/geometry/convex.h"
#include "costate/geometry/heightfield.h"

namespace costate::geometry {
namespace {

using Json = nlohmann::json;

ShapeType shape_type(const std::string& name) {
  static const std::map<std::string, ShapeType> types = {{"plane", ShapeType::plane},
                                                         {"hfield", ShapeType::heightfield},
                                                         {"sphere", ShapeType::sphere},
                                                         {"capsule", ShapeType::capsule},
                                                         {"ellipsoid", ShapeType::ellipsoid},
                                                         {"cylinder", ShapeType::cylinder},
                                                         {"box", ShapeType::box},
                                                         {"mesh", ShapeType::mesh}};
  return types.at(name);
}

const Json& reference() {
  static const Json json = Json::parse(std::ifstream(COSTATE_GEOMETRY_REFERENCE));
  return json;
}

Vec3<double> vector_of(const Json& j) { return {j[0], j[1], j[2]}; }

ConvexMesh mesh_of(const Json& j) {
  ConvexMesh mesh;
  for (const Json& v : j["vertices"]) mesh.vertices.push_back(vector_of(v));
  for (const Json& n : j["normals"]) mesh.face_normals.push_back(vector_of(n));
  mesh.neighbour_begin.push_back(0);
  for (const Json& list : j["neighbours"]) {
    for (int i : list) mesh.neighbours.push_back(i);
    mesh.neighbour_begin.push_back(int(mesh.neighbours.size()));
  }
  mesh.face_begin.push_back(0);
  std::vector<std::vector<int>> faces_of(mesh.vertices.size());
  for (std::size_t f = 0; f < j["polygons"].size(); ++f) {
    for (int i : j["polygons"][f]) {
      mesh.face_vertices.push_back(i);
      faces_of[std::size_t(i)].push_back(int(f));
    }
    mesh.face_begin.push_back(int(mesh.face_vertices.size()));
  }
  mesh.vertex_face_begin.push_back(0);
  for (const auto& faces : faces_of) {
    mesh.vertex_faces.insert(mesh.vertex_faces.end(), faces.begin(), faces.end());
    mesh.vertex_face_begin.push_back(int(mesh.vertex_faces.size()));
  }
  mesh.bounding_radius = j["radius"];
  return mesh;
}

Shape<double> shape_of(const Json& numbers) {
  Shape<double> s;
  for (int i = 0; i < 3; ++i) s.x[i] = numbers[std::size_t(i)];
  for (int i = 0; i < 9; ++i) s.R.e[i / 3][i % 3] = numbers[std::size_t(3 + i)];
  for (int i = 0; i < 3; ++i) s.size[i] = numbers[std::size_t(12 + i)];
  return s;
}

struct Gates {
  double dist = 1e-12, point = 1e-11, frame = 1e-11;
};

enum Order { in_order, in_any_order };

// The reference's contacts, each at the place of the found one it is closest to.
Json nearest_first(Json expected, const std::vector<ContactPoint<double>>& found) {
  for (std::size_t k = 0; k < std::min(found.size(), expected.size()); ++k) {
    std::size_t best = k;
    const auto away = [&](std::size_t i) {
      return squared_norm(found[k].point - Vec3<double>{expected[i][1], expected[i][2], expected[i][3]});
    };
    for (std::size_t i = k; i < expected.size(); ++i)
      if (away(i) < away(best)) best = i;
    std::swap(expected[k], expected[best]);
  }
  return expected;
}

bool same_contacts(const std::vector<ContactPoint<double>>& found, const Json& expected, const Gates& gates) {
  if (found.size() != expected.size()) return false;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const Json& e = expected[k];
    const Mat3<double> frame = contact_frame(found[k].normal, found[k].tangent);
    if (!(std::abs(found[k].dist - double(e[0])) < gates.dist)) return false;
    for (int i = 0; i < 3; ++i)
      if (!(std::abs(found[k].point[i] - double(e[std::size_t(1 + i)])) < gates.point)) return false;
    for (int i = 0; i < 9; ++i)
      if (!(std::abs(frame.e[i / 3][i % 3] - double(e[std::size_t(4 + i)])) < gates.frame)) return false;
  }
  return true;
}

HeightGrid heights_of(const Json& j) {
  HeightGrid h;
  h.rows = j["rows"];
  h.columns = j["columns"];
  h.size_x = j["size"][0];
  h.size_y = j["size"][1];
  h.height = j["size"][2];
  h.base = j["size"][3];
  for (const Json& x : j["data"]) h.heights.push_back(x);
  return h;
}

// `others`: scenes whose contacts may differ, for the reason given where it is not 0.
void expect_same_contacts(const std::string& first, const std::string& second, Order order = in_order,
                          const Gates& gates = {}, int others = 0) {
  static const HeightGrid heights = heights_of(reference()["heights"]);
  for (const Json& pair : reference()["pairs"]) {
    if (pair["first"] != first || pair["second"] != second) continue;
    const ShapeType one = shape_type(first), two = shape_type(second);
    ConvexMesh mesh;
    if (!pair["mesh"].is_null()) mesh = mesh_of(pair["mesh"]);
    int number = 0, different = 0;
    std::string which;
    for (const Json& scene : pair["scenes"]) {
      Shape<double> a = shape_of(scene["shapes"][0]), b = shape_of(scene["shapes"][1]);
      a.mesh = one == ShapeType::mesh ? &mesh : nullptr;
      b.mesh = two == ShapeType::mesh ? &mesh : nullptr;
      a.heights = &heights;
      std::vector<ContactPoint<double>> slots(std::size_t(contact_slots(one, two)),
                                              ContactPoint<double>::zero());
      const double margin = scene["margin"];
      collide<double>(one, two, a, b, margin, slots.data());
      std::vector<ContactPoint<double>> found;
      for (const auto& c : slots)
        if (c.dist <= margin) found.push_back(c);
      const Json expected =
          order == in_any_order ? nearest_first(scene["contacts"], found) : scene["contacts"];
      EXPECT_EQ(found.empty(), expected.empty()) << "scene " << number;
      if (!same_contacts(found, expected, gates)) {
        ++different;
        which += " " + std::to_string(number);
      }
      ++number;
    }
    EXPECT_GE(number, 20);
    EXPECT_LE(different, others) << "scenes" << which;
    return;
  }
  FAIL() << "no reference";
}

TEST(ContactParity, PlaneSphere) { expect_same_contacts("plane", "sphere"); }
TEST(ContactParity, PlaneCapsule) { expect_same_contacts("plane", "capsule"); }
TEST(ContactParity, PlaneEllipsoid) { expect_same_contacts("plane", "ellipsoid"); }
TEST(ContactParity, PlaneCylinder) { expect_same_contacts("plane", "cylinder"); }
// A slot stays with its corner, or with the vertex of its rank in height, so that the order is not that of
// MuJoCo's search.
TEST(ContactParity, PlaneBox) { expect_same_contacts("plane", "box", in_any_order); }
TEST(ContactParity, PlaneMesh) { expect_same_contacts("plane", "mesh", in_any_order); }
TEST(ContactParity, SphereSphere) { expect_same_contacts("sphere", "sphere"); }
TEST(ContactParity, SphereCapsule) { expect_same_contacts("sphere", "capsule"); }
TEST(ContactParity, SphereCylinder) { expect_same_contacts("sphere", "cylinder"); }
TEST(ContactParity, SphereBox) { expect_same_contacts("sphere", "box"); }
TEST(ContactParity, CapsuleCapsule) { expect_same_contacts("capsule", "capsule"); }
TEST(ContactParity, CapsuleBox) { expect_same_contacts("capsule", "box"); }
// Boxes in the same attitude: rounding says whose face it is, and with it the order.
TEST(ContactParity, BoxBox) { expect_same_contacts("box", "box", in_any_order); }

// MuJoCo iterates these to its tolerance; ours are solved to rounding.
constexpr Gates kSearched = {1e-8, 1e-4, 1e-3};
TEST(ContactParity, SphereEllipsoid) { expect_same_contacts("sphere", "ellipsoid", in_order, kSearched); }
TEST(ContactParity, SphereMesh) { expect_same_contacts("sphere", "mesh", in_order, kSearched); }
TEST(ContactParity, CapsuleEllipsoid) { expect_same_contacts("capsule", "ellipsoid", in_order, kSearched); }
TEST(ContactParity, EllipsoidEllipsoid) {
  expect_same_contacts("ellipsoid", "ellipsoid", in_order, kSearched);
}
TEST(ContactParity, EllipsoidCylinder) { expect_same_contacts("ellipsoid", "cylinder", in_order, kSearched); }
TEST(ContactParity, EllipsoidBox) { expect_same_contacts("ellipsoid", "box", in_order, kSearched); }
TEST(ContactParity, EllipsoidMesh) { expect_same_contacts("ellipsoid", "mesh", in_order, kSearched); }
TEST(ContactParity, CylinderCylinder) {
  expect_same_contacts("cylinder", "cylinder", in_any_order, kSearched);
}
TEST(ContactParity, BoxMesh) { expect_same_contacts("box", "mesh", in_any_order, kSearched); }
// A line along a face: where it leaves the face MuJoCo takes the line of a slightly different normal, and at
// some edges a face that is not the one that touches. Ours are the face of least overlap and its own line;
// how many scenes differ is held here.
TEST(ContactParity, CapsuleCylinder) {
  expect_same_contacts("capsule", "cylinder", in_any_order, kSearched, 2);
}
TEST(ContactParity, CapsuleMesh) { expect_same_contacts("capsule", "mesh", in_any_order, kSearched, 6); }
TEST(ContactParity, CylinderBox) { expect_same_contacts("cylinder", "box", in_any_order, kSearched, 6); }
TEST(ContactParity, CylinderMesh) { expect_same_contacts("cylinder", "mesh", in_any_order, kSearched, 7); }
TEST(ContactParity, MeshMesh) { expect_same_contacts("mesh", "mesh", in_any_order, kSearched, 1); }

TEST(ContactParity, HeightfieldSphere) { expect_same_contacts("hfield", "sphere", in_order, kSearched); }
TEST(ContactParity, HeightfieldEllipsoid) {
  expect_same_contacts("hfield", "ellipsoid", in_order, kSearched);
}
TEST(ContactParity, HeightfieldMesh) { expect_same_contacts("hfield", "mesh", in_order, kSearched); }
// One scene each with more contacts than there are slots.
TEST(ContactParity, HeightfieldCapsule) { expect_same_contacts("hfield", "capsule", in_order, kSearched, 1); }
TEST(ContactParity, HeightfieldCylinder) {
  expect_same_contacts("hfield", "cylinder", in_order, kSearched, 1);
}
// Four scenes with more contacts than slots; in three MuJoCo stops at a normal that is not the one of least
// overlap, as ConvexDepth.IsTheLeastOverAllNormals shows of ours.
TEST(ContactParity, HeightfieldBox) { expect_same_contacts("hfield", "box", in_order, kSearched, 7); }

}  // namespace
}  // namespace costate::geometry
