#include "costate/rigid/derived_parameters.h"

#include <algorithm>

#include "costate/ad/dual.h"
#include "costate/core/error.h"
#include "costate/rigid/dynamics/inverse_weights.h"

namespace costate::rigid {
namespace {

struct Layout {
  Signature signature;
  Tree tree;
  explicit Layout(const Model& model) : tree(make_tree(model, add_parameters(model, signature))) {}
};

// All numbers in the order of the signature, in double. A contact model may have added numbers of its own at
// the end.
template <class Real>
std::vector<double> flat(const Layout& layout, const Parameters<Real>& p) {
  const auto &ours = layout.signature.fields(Role::parameter),
             &theirs = p.signature().fields(Role::parameter);
  const bool fits = theirs.size() >= ours.size() &&
                    std::equal(ours.begin(), ours.end(), theirs.begin(), [](const Field& f, const Field& g) {
                      return f.name == g.name && f.size == g.size;
                    });
  if (!fits) throw Error("these are not the parameters of this model");
  std::vector<double> r;
  for (std::size_t f = 0; f < layout.signature.fields(Role::parameter).size(); ++f) {
    const std::string& name = layout.signature.fields(Role::parameter)[f].name;
    if (p.per_world(f))
      throw Error({"\"" + name + "\" differs from world to world", {}, "derive the weights world by world"});
    r.insert(r.end(), p.values(f).begin(), p.values(f).end());
  }
  return r;
}

// Calls visit(parameter, weight) for every inverse weight that is a parameter.
template <class S, class Visit>
void for_each_weight(const Tree& tree, const InverseWeights<S>& w, const Visit& visit) {
  for (const TreeJoint& joint : tree.joints) {
    for (int i = 0; joint.p.invweight >= 0 && i < dof_size(joint.type); ++i)
      visit(joint.p.invweight + i, w.dofs[joint.dof + i]);
  }
  for (std::size_t b = 0; b < tree.bodies.size(); ++b) {
    if (tree.bodies[b].p.invweight < 0) continue;
    visit(tree.bodies[b].p.invweight, w.bodies[b].x);
    visit(tree.bodies[b].p.invweight + 1, w.bodies[b].y);
  }
  for (std::size_t t = 0; t < tree.tendons.size(); ++t) {
    if (tree.tendons[t].p.invweight >= 0) visit(tree.tendons[t].p.invweight, w.tendons[t]);
  }
}

// At the reference configuration, which slides and hinges share with their `ref`.
template <class S>
InverseWeights<S> measure(const Model& model, const Tree& tree, std::vector<S> p) {
  std::vector<S> q(model.qpos0.begin(), model.qpos0.end());
  for (const TreeJoint& joint : tree.joints) {
    if (joint.p.ref >= 0) q[joint.q] = p[joint.p.ref];
  }
  p.resize(tree.p.prepared_size, S(0));
  prepare_units(tree.p, p.data());
  return inverse_weights(tree, p.data(), q.data());
}

// What the weights depend on.
std::vector<int> causes(const Tree& tree) {
  std::vector<int> r;
  const auto add = [&](int at, int n) {
    for (int i = 0; at >= 0 && i < n; ++i) r.push_back(at + i);
  };
  for (const TreeBody& b : tree.bodies) {
    add(b.p.mass, 1);
    add(b.p.com, 3);
    add(b.p.inertia, 6);
    add(b.p.pos, 3);
    add(b.p.quat, 4);
  }
  for (const TreeJoint& j : tree.joints) {
    add(j.p.pos, 3);
    add(j.p.axis, 3);
    add(j.p.armature, 1);
  }
  for (const TreeTendon& t : tree.tendons) {
    add(t.p.coefficients, int(t.dof.size()));
    for (const TreeSpan& span : t.spans) {
      for (const SpanBody* end : {&span.from, &span.to, &span.around}) add(end->pos, 3);
      add(span.divisor, 1);
      if (span.geom < 0) continue;
      add(tree.geoms[span.geom].p.size, 1);
      add(tree.geoms[span.geom].p.quat, 4);
    }
  }
  // A site may serve several spans.
  std::sort(r.begin(), r.end());
  r.erase(std::unique(r.begin(), r.end()), r.end());
  return r;
}

template <class Real>
Real& number(const Layout& layout, Parameters<Real>& p, int at) {
  const std::size_t field = layout.tree.p.field_of[at];
  return p.values(
      field)[static_cast<std::size_t>(at - layout.signature.fields(Role::parameter)[field].offset)];
}

}  // namespace

template <class Real>
Parameters<Real> with_inverse_weights(const Model& model, const Parameters<Real>& parameters) {
  const Layout layout(model);
  Parameters<Real> r = parameters;
  for_each_weight(layout.tree, measure(model, layout.tree, flat(layout, parameters)),
                  [&](int at, double weight) { number(layout, r, at) = static_cast<Real>(weight); });
  return r;
}

template <class Real>
void chain_inverse_weights(const Model& model, const Parameters<Real>& parameters,
                           Parameters<Real>& gradient) {
  constexpr int kDirections = 8;
  using D = Dual<double, kDirections>;
  const Layout layout(model);
  const std::vector<double> at = flat(layout, parameters), bar = flat(layout, gradient);
  const std::vector<int> moved = causes(layout.tree);
  for (std::size_t first = 0; first < moved.size(); first += kDirections) {
    const std::size_t n = std::min<std::size_t>(kDirections, moved.size() - first);
    std::vector<D> p(at.begin(), at.end());
    for (std::size_t i = 0; i < n; ++i) p[moved[first + i]].d[i] = 1;
    double sum[kDirections] = {};
    for_each_weight(layout.tree, measure(model, layout.tree, p), [&](int weight, const D& value) {
      for (std::size_t i = 0; i < n; ++i) sum[i] += bar[weight] * value.d[i];
    });
    for (std::size_t i = 0; i < n; ++i)
      number(layout, gradient, moved[first + i]) += static_cast<Real>(sum[i]);
  }
}

template Parameters<float> with_inverse_weights(const Model&, const Parameters<float>&);
template Parameters<double> with_inverse_weights(const Model&, const Parameters<double>&);
template void chain_inverse_weights(const Model&, const Parameters<float>&, Parameters<float>&);
template void chain_inverse_weights(const Model&, const Parameters<double>&, Parameters<double>&);

}  // namespace costate::rigid
