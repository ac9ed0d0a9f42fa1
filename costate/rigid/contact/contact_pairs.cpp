#include "costate/rigid/contact/contact_pairs.h"

#include <algorithm>

#include "costate/core/error.h"
#include "costate/geometry/collide.h"
#include "costate/rigid/dynamics/parameter_map.h"

namespace costate::rigid {
namespace {

const Body& body_of(const Model& m, int geom) { return m.bodies[m.geoms[geom].body]; }

// The body that the body `weld` hangs on, as one with all that is welded to it.
int parent_of(const Model& m, int weld) {
  const int parent = m.bodies[weld].parent;
  return parent < 0 ? 0 : m.bodies[parent].weld;
}

bool kept_apart(const Model& m, int a, int b) {
  const int one = body_of(m, a).weld, two = body_of(m, b).weld;
  if (one == two) return true;
  if (m.options.filterparent && one != 0 && two != 0 &&
      (one == parent_of(m, two) || two == parent_of(m, one)))
    return true;
  const int first = m.geoms[a].body, second = m.geoms[b].body;
  return std::any_of(m.excludes.begin(), m.excludes.end(), [&](const ContactExclude& e) {
    return (e.first == first && e.second == second) || (e.first == second && e.second == first);
  });
}

GeomPair in_order(const Model& m, int a, int b) {
  const Geom &one = m.geoms[a], &two = m.geoms[b];
  GeomPair r;
  const bool swapped = two.type < one.type;
  r.first = swapped ? b : a;
  r.second = swapped ? a : b;
  r.slots = geometry::contact_slots(std::min(one.type, two.type), std::max(one.type, two.type));
  return r;
}

// All that the model lets meet.
std::vector<GeomPair> candidates(const Model& m) {
  std::vector<GeomPair> r;
  if (!m.options.constraint || !m.options.contact) return r;
  for (std::size_t i = 0; i < m.pairs.size(); ++i) {
    GeomPair pair = in_order(m, m.pairs[i].first, m.pairs[i].second);
    pair.pair = int(i);
    pair.condim = m.pairs[i].condim;
    if (body_of(m, pair.first).weld != body_of(m, pair.second).weld) r.push_back(pair);
  }
  const std::size_t named = r.size();
  for (int a = 0; a < int(m.geoms.size()); ++a) {
    const Geom& one = m.geoms[a];
    for (int b = a + 1; b < int(m.geoms.size()); ++b) {
      const Geom& two = m.geoms[b];
      if (!((one.contype & two.conaffinity) || (two.contype & one.conaffinity)) || kept_apart(m, a, b))
        continue;
      GeomPair pair = in_order(m, a, b);
      const auto same = [&](const GeomPair& p) { return p.first == pair.first && p.second == pair.second; };
      if (std::any_of(r.begin(), r.begin() + std::ptrdiff_t(named), same)) continue;
      const Geom &first = m.geoms[pair.first], &second = m.geoms[pair.second];
      pair.chosen = first.priority > second.priority ? 1 : first.priority < second.priority ? 2 : 0;
      pair.condim = pair.chosen == 1   ? first.condim
                    : pair.chosen == 2 ? second.condim
                                       : std::max(first.condim, second.condim);
      r.push_back(pair);
    }
  }
  return r;
}

}  // namespace

std::vector<GeomPair> touching_pairs(const Model& m) {
  std::vector<GeomPair> r = candidates(m);
  std::erase_if(r, [](const GeomPair& pair) { return pair.slots == 0; });
  return r;
}

void refuse_unknown_pairs(const Model& m) {
  const auto ground = [](GeomType t) { return t == GeomType::plane || t == GeomType::heightfield; };
  for (const GeomPair& pair : candidates(m)) {
    const Geom &first = m.geoms[pair.first], &second = m.geoms[pair.second];
    if (pair.slots > 0 || (ground(first.type) && ground(second.type))) continue;
    throw Error(
        {"geoms \"" + name_of(first.name, std::size_t(pair.first)) + "\" and \"" +
             name_of(second.name, std::size_t(pair.second)) +
             "\": contact of these two shapes is not simulated",
         {},
         "keep them apart (contype and conaffinity, or <exclude>), use other shapes, or switch contact off "
         "(options.contact = false)"});
  }
}

}  // namespace costate::rigid
