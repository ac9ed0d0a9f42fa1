#include "costate/rigid/dynamics/tree.h"

#include <algorithm>

namespace costate::rigid {
namespace {

TreeActuator tree_actuator(const Model& model, const Actuator& a, const ActuatorParameters& p) {
  using Kind = TreeActuator::Kind;
  TreeActuator r;
  r.target = a.target;
  r.activation = a.activation;
  r.dynamics = a.dynamics;
  r.affine_gain = a.gain == GainType::affine;
  r.affine_bias = a.bias == BiasType::affine;
  r.muscle_gain = a.gain == GainType::muscle;
  r.muscle_bias = a.bias == BiasType::muscle;
  r.act_early = a.act_early;
  r.p = p;
  switch (a.transmission) {
    case TransmissionType::joint:
    case TransmissionType::joint_in_parent: {
      const Joint& joint = model.joints[a.target];
      r.q = joint.qpos;
      r.dof = joint.dof;
      r.kind = joint.type == JointType::free   ? Kind::free
               : joint.type == JointType::ball ? Kind::ball
                                               : Kind::scalar_joint;
      break;
    }
    case TransmissionType::tendon:
      r.kind = Kind::tendon;
      break;
    case TransmissionType::site:
      r.kind = Kind::site;
      break;
  }
  return r;
}

// Where M(i, j) lies, j <= i; -1: another branch.
int mass_entry(const Tree& t, int i, int j) {
  const int row = t.dofs[i].row;
  int ancestor = i, offset = 0;
  while (ancestor > j) {
    ancestor = t.dofs[ancestor].parent;
    ++offset;
  }
  return ancestor == j ? row + offset : -1;
}

void add_joints(const Model& model, const Tendon& tendon, TreeTendon& r) {
  for (int w = tendon.first_wrap; w < tendon.first_wrap + tendon.wraps; ++w) {
    const Joint& joint = model.joints[model.wraps[w].object];
    r.q.push_back(joint.qpos);
    r.dof.push_back(joint.dof);
  }
}

// Leaves in each body of a span the dofs that move it, but not those that move all bodies of the span.
void find_moving_dofs(const Tree& t, TreeSpan& span) {
  std::vector<SpanBody*> bodies = {&span.from, &span.to};
  if (span.geom >= 0) bodies.push_back(&span.around);
  for (SpanBody* b : bodies) {
    for (int k = t.bodies[b->body].last_dof; k >= 0; k = t.dofs[k].parent) b->dofs.push_back(k);
  }
  const auto moves = [](const SpanBody* b, int dof) {
    return std::find(b->dofs.begin(), b->dofs.end(), dof) != b->dofs.end();
  };
  std::vector<int> common;
  for (const int dof : span.from.dofs) {
    if (std::all_of(bodies.begin(), bodies.end(), [&](const SpanBody* b) { return moves(b, dof); }))
      common.push_back(dof);
  }
  for (SpanBody* b : bodies) {
    std::erase_if(b->dofs,
                  [&](int dof) { return std::find(common.begin(), common.end(), dof) != common.end(); });
  }
}

void add_spans(const Model& model, const Tendon& tendon, const Tree& t, const ParameterMap& map,
               TreeTendon& r) {
  int divisor = kAbsent, pulleys = 0, before = -1;
  const Wrap* around = nullptr;
  for (int w = tendon.first_wrap; w < tendon.first_wrap + tendon.wraps; ++w) {
    const Wrap& wrap = model.wraps[w];
    const std::size_t object = wrap.object;
    switch (wrap.type) {
      case WrapType::pulley:
        divisor = r.p.divisors + pulleys++;
        before = -1;
        around = nullptr;
        break;
      case WrapType::sphere:
      case WrapType::cylinder:
        around = &wrap;
        break;
      case WrapType::site:
        if (before >= 0) {
          const std::size_t from = before;
          TreeSpan span;
          span.from = {model.sites[from].body, map.sites[from].pos, {}};
          span.to = {model.sites[object].body, map.sites[object].pos, {}};
          span.divisor = divisor;
          if (around) {
            const std::size_t geom = around->object;
            span.around = {model.geoms[geom].body, map.geoms[geom].pos, {}};
            span.geom = around->object;
            span.side = around->side_site;
            span.cylinder = around->type == WrapType::cylinder;
          }
          find_moving_dofs(t, span);
          r.spans.push_back(std::move(span));
        }
        before = wrap.object;
        around = nullptr;
        break;
      case WrapType::joint:
        break;
    }
  }
  for (const TreeSpan& span : r.spans) {
    for (const SpanBody* b : {&span.from, &span.to, &span.around})
      r.dof.insert(r.dof.end(), b->dofs.begin(), b->dofs.end());
  }
  std::sort(r.dof.begin(), r.dof.end());
  r.dof.erase(std::unique(r.dof.begin(), r.dof.end()), r.dof.end());
  for (TreeSpan& span : r.spans) {
    for (SpanBody* b : {&span.from, &span.to, &span.around}) {
      for (int& dof : b->dofs)
        dof = static_cast<int>(std::lower_bound(r.dof.begin(), r.dof.end(), dof) - r.dof.begin());
    }
  }
}

std::shared_ptr<const geometry::HeightGrid> grid_of(const Heightfield& field) {
  const Double4& size = field.size;
  return std::make_shared<const geometry::HeightGrid>(
      geometry::HeightGrid{field.rows, field.columns, size[0], size[1], size[2], size[3], field.data});
}

std::shared_ptr<const geometry::ConvexMesh> hull_of(const Mesh& mesh) {
  std::vector<Vec3<double>> points;
  for (const Double3& v : mesh.hull_vertices) points.push_back({v[0], v[1], v[2]});
  return std::make_shared<const geometry::ConvexMesh>(geometry::convex_mesh(points, mesh.hull_faces));
}

bool only_slides(const Model& model, std::size_t index) {
  const Body& b = model.bodies[index];
  if (b.joints == 0 || model.bodies[b.parent].weld != 0 || !(b.mass > 0)) return false;
  if (b.com != Double3{0, 0, 0} || b.inertia[3] != 0 || b.inertia[4] != 0 || b.inertia[5] != 0) return false;
  for (const Body& other : model.bodies) {
    if (other.parent == int(index)) return false;
  }
  for (int j = b.first_joint; j < b.first_joint + b.joints; ++j) {
    const Joint& joint = model.joints[j];
    int along = 0;
    for (double a : joint.axis) along += a != 0;
    if (joint.type != JointType::slide || along != 1) return false;
  }
  return true;
}

void add_bodies(const Model& model, const ParameterMap& map, Tree& t) {
  t.bodies.resize(model.bodies.size());
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    const Body& b = model.bodies[i];
    TreeBody& body = t.bodies[i];
    body.parent = b.parent;
    body.root = b.root;
    if (b.joints > 0) {
      body.joint_begin = b.first_joint;
      body.joint_end = b.first_joint + b.joints;
      body.dof_begin = b.first_dof;
      body.dof_end = b.first_dof + b.dofs;
      body.last_dof = body.dof_end - 1;
      body.placed = model.joints[b.first_joint].type == JointType::free;
    } else if (i > 0) {
      body.last_dof = t.bodies[b.parent].last_dof;
    }
    body.p = map.bodies[i];
  }
}

void add_joints_and_dofs(const Model& model, const ParameterMap& map, Tree& t) {
  for (std::size_t j = 0; j < model.joints.size(); ++j) {
    const Joint& joint = model.joints[j];
    const bool last = int(j) + 1 == t.bodies[joint.body].joint_end;
    t.joint_force_limits |= map.joints[j].actuator_force_range >= 0;
    const bool spring = model.options.spring && map.joints[j].stiffness >= 0;
    t.joints.push_back({joint.type, joint.body, joint.qpos, joint.dof, last, spring, map.joints[j]});
  }
  for (const Dof& d : model.dofs) {
    const int depth = d.parent < 0 ? 1 : t.dofs[d.parent].depth + 1;
    t.dofs.push_back({d.body, d.joint, d.parent, t.entries, depth});
    t.entries += depth;
  }
}

void add_geoms(const Model& model, const ParameterMap& map, Tree& t) {
  std::vector<std::shared_ptr<const geometry::ConvexMesh>> meshes(model.meshes.size());
  for (std::size_t g = 0; g < model.geoms.size(); ++g) {
    const Geom& geom = model.geoms[g];
    t.geoms.push_back({geom.body, geom.type, nullptr, nullptr, map.geoms[g]});
    if (geom.type == GeomType::heightfield && map.geoms[g].pos >= 0)
      t.geoms.back().heights = grid_of(model.heightfields[geom.heightfield]);
    if (geom.type != GeomType::mesh || map.geoms[g].pos < 0) continue;
    auto& mesh = meshes[geom.mesh];
    if (!mesh) mesh = hull_of(model.meshes[geom.mesh]);
    t.geoms.back().mesh = mesh;
  }
}

void add_tendons(const Model& model, const ParameterMap& map, Tree& t) {
  for (std::size_t i = 0; i < model.tendons.size(); ++i) {
    const Tendon& tendon = model.tendons[i];
    TreeTendon r;
    r.p = map.tendons[i];
    r.jacobian = t.tendon_entries;
    r.spatial = tendon.type == TendonType::spatial;
    if (r.spatial)
      add_spans(model, tendon, t, map, r);
    else
      add_joints(model, tendon, r);
    t.tendon_entries += static_cast<int>(r.dof.size());
    t.spatial_tendons |= r.spatial;
    for (std::size_t a = 0; a < r.dof.size(); ++a) {
      for (std::size_t b = 0; b < r.dof.size(); ++b) {
        if (r.dof[b] > r.dof[a] || (r.dof[a] == r.dof[b] && a != b)) continue;
        const int entry = mass_entry(t, r.dof[a], r.dof[b]);
        if (entry >= 0) r.pairs.push_back({int(a), int(b), entry});
      }
    }
    t.tendons.push_back(std::move(r));
  }
}

// What kinds of forces the model has: terms that are absent cost nothing.
void add_forces(const Model& model, const ParameterMap& map, Tree& t) {
  t.gravcomp = model.bodies.size() > 1 && map.bodies[1].gravcomp >= 0 && model.options.gravity_on;
  t.fluid = map.density >= 0;
  t.springs = model.options.spring;
  t.dampers = model.options.damper;
  if (model.options.actuation) {
    for (std::size_t a = 0; a < model.actuators.size(); ++a) {
      t.actuators.push_back(tree_actuator(model, model.actuators[a], map.actuators[a]));
      t.body_actuators |= t.actuators.back().kind == TreeActuator::Kind::site;
    }
  }
}

}  // namespace

bool wants_frames(const Tree& tree, const std::vector<bool>& active_fields) {
  const auto active = [&](int at) { return at >= 0 && active_fields[tree.p.field_of[at]]; };
  for (const TreeBody& b : tree.bodies) {
    for (int at : {b.p.mass, b.p.com, b.p.inertia, b.p.pos, b.p.quat}) {
      if (active(at)) return true;
    }
  }
  for (const TreeJoint& j : tree.joints) {
    for (int at : {j.p.pos, j.p.axis, j.p.ref}) {
      if (active(at)) return true;
    }
  }
  return false;
}

Tree make_tree(const Model& model, ParameterMap map) {
  Tree t;
  t.nq = model.nq;
  t.nv = model.nv;
  t.na = model.na;
  t.nu = model.nu();
  add_bodies(model, map, t);
  add_joints_and_dofs(model, map, t);
  add_geoms(model, map, t);
  for (std::size_t s = 0; s < model.sites.size(); ++s) t.sites.push_back({model.sites[s].body, map.sites[s]});
  add_tendons(model, map, t);
  t.qpos_spring = model.qpos_spring;
  for (std::size_t b = 1; b < model.bodies.size(); ++b) {
    if (only_slides(model, b)) t.sliders.push_back(int(b));
  }
  add_forces(model, map, t);
  t.p = std::move(map);
  return t;
}

}  // namespace costate::rigid
