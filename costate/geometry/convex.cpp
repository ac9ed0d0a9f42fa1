#include "costate/geometry/convex.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "costate/core/error.h"

namespace costate::geometry {

namespace {

// Triangles that lie in one plane with their neighbour across an edge join it.
constexpr double kCoplanar = 1e-9;

int root_of(std::vector<int>& parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

}  // namespace

ConvexMesh convex_mesh(const std::vector<Vec3<double>>& points,
                       const std::vector<std::array<int, 3>>& triangles) {
  if (triangles.size() < 4) throw Error("a convex mesh needs at least four triangles");
  const int point_count = int(points.size()), triangle_count = int(triangles.size());
  std::vector<int> new_index(points.size(), -1);
  for (const auto& t : triangles)
    for (int i : t) {
      if (i < 0 || i >= point_count)
        throw Error("a triangle of a convex mesh names a vertex that is not there");
      new_index[i] = 0;
    }
  ConvexMesh mesh;
  for (int i = 0; i < point_count; ++i)
    if (new_index[i] == 0) {
      new_index[i] = mesh.vertex_count();
      mesh.vertices.push_back(points[i]);
      mesh.bounding_radius = std::max(mesh.bounding_radius, std::sqrt(squared_norm(points[i])));
    }
  const int n = mesh.vertex_count();

  // Directed edge -> triangle; normals; triangles of one plane.
  std::map<std::pair<int, int>, int> triangle_of_edge;
  std::vector<Vec3<double>> normals;
  for (int t = 0; t < triangle_count; ++t) {
    int v[3];
    for (int k = 0; k < 3; ++k) v[k] = new_index[triangles[t][k]];
    for (int k = 0; k < 3; ++k) triangle_of_edge[{v[k], v[(k + 1) % 3]}] = t;
    const Vec3<double>&a = mesh.vertices[v[0]], &b = mesh.vertices[v[1]], &c = mesh.vertices[v[2]];
    normals.push_back(normalized(cross(b - a, c - a)));
  }
  std::vector<int> parent(triangles.size());
  for (int t = 0; t < triangle_count; ++t) parent[t] = t;
  for (const auto& [edge, t] : triangle_of_edge) {
    const auto other = triangle_of_edge.find({edge.second, edge.first});
    if (other == triangle_of_edge.end()) throw Error("the surface of a convex mesh is not closed");
    if (squared_norm(cross(normals[t], normals[other->second])) < kCoplanar)
      parent[root_of(parent, t)] = root_of(parent, other->second);
  }

  // The boundary of each plane's triangles is a polygon.
  std::map<int, std::map<int, int>> next_in_face;
  for (const auto& [edge, t] : triangle_of_edge) {
    const int face = root_of(parent, t);
    if (root_of(parent, triangle_of_edge[{edge.second, edge.first}]) != face)
      next_in_face[face][edge.first] = edge.second;
  }
  std::vector<std::vector<int>> neighbours(mesh.vertices.size()), faces_of(mesh.vertices.size());
  mesh.face_begin.push_back(0);
  for (const auto& [face, next] : next_in_face) {
    const int start = next.begin()->first;
    int v = start;
    do {
      mesh.face_vertices.push_back(v);
      faces_of[v].push_back(mesh.face_count());
      v = next.at(v);
    } while (v != start);
    mesh.face_begin.push_back(int(mesh.face_vertices.size()));
    mesh.face_normals.push_back(normals[face]);
  }
  for (const auto& [edge, t] : triangle_of_edge) neighbours[edge.first].push_back(edge.second);
  mesh.neighbour_begin.push_back(0);
  mesh.vertex_face_begin.push_back(0);
  for (int i = 0; i < n; ++i) {
    const auto& near = neighbours[i];
    const auto& faces = faces_of[i];
    mesh.neighbours.insert(mesh.neighbours.end(), near.begin(), near.end());
    mesh.vertex_faces.insert(mesh.vertex_faces.end(), faces.begin(), faces.end());
    mesh.neighbour_begin.push_back(int(mesh.neighbours.size()));
    mesh.vertex_face_begin.push_back(int(mesh.vertex_faces.size()));
  }
  return mesh;
}

int farthest_vertex(const ConvexMesh& mesh, const Vec3<double>& direction, int start) {
  int best = start;
  double far = dot(direction, mesh.vertices[best]);
  for (int from = -1; from != best;) {
    from = best;
    for (int k = mesh.neighbour_begin[from]; k < mesh.neighbour_begin[from + 1]; ++k) {
      const int i = mesh.neighbours[k];
      const double d = dot(direction, mesh.vertices[i]);
      if (d > far) {
        far = d;
        best = i;
      }
    }
  }
  return best;
}

}  // namespace costate::geometry
