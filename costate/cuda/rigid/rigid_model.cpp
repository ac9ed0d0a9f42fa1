#include "costate/cuda/rigid/rigid_model.h"

#include <cstring>

#include "costate/core/error.h"
#include "costate/geometry/shape_type.h"
#include "costate/rigid/dynamics/kinematics.h"

namespace costate::cuda {
namespace {

using rigid::Stepper;

// Bytes that will lie at `base`, with pointers into themselves.
class Writer {
 public:
  explicit Writer(char* base) : base_(base) {}

  std::vector<char> bytes;

  template <class T>
  std::size_t put(const T* from, std::size_t count) {
    const std::size_t at = (bytes.size() + 15) / 16 * 16;
    bytes.resize(at + count * sizeof(T));
    if (count > 0) std::memcpy(bytes.data() + at, static_cast<const void*>(from), count * sizeof(T));
    return at;
  }
  void point(std::size_t at, std::size_t to) {
    const char* const address = base_ + to;
    std::memcpy(bytes.data() + at, &address, sizeof address);
  }
  // The elements of a vector that is a member of `owner`, which lies at `owner_at`. Returns where they lie.
  template <class Owner, class T>
  std::size_t vector(std::size_t owner_at, const Owner& owner, const std::vector<T>& member) {
    static_assert(sizeof(std::vector<T>) == 3 * sizeof(void*), "a vector is not three pointers here");
    const std::size_t at = put(member.data(), member.size());
    const auto header = owner_at + std::size_t(reinterpret_cast<const char*>(&member) -
                                               reinterpret_cast<const char*>(&owner));
    const std::size_t end = at + member.size() * sizeof(T);
    point(header, at), point(header + sizeof(void*), end), point(header + 2 * sizeof(void*), end);
    return at;
  }

 private:
  char* base_;
};

void write_tendons(Writer& w, std::size_t at, const std::vector<rigid::TreeTendon>& tendons) {
  for (std::size_t i = 0; i < tendons.size(); ++i) {
    const rigid::TreeTendon& t = tendons[i];
    const std::size_t here = at + i * sizeof t;
    w.vector(here, t, t.q), w.vector(here, t, t.dof), w.vector(here, t, t.pairs);
    const std::size_t spans = w.vector(here, t, t.spans);
    for (std::size_t k = 0; k < t.spans.size(); ++k)
      for (const rigid::SpanBody* body : {&t.spans[k].from, &t.spans[k].to, &t.spans[k].around})
        w.vector(spans + k * sizeof t.spans[k], t.spans[k], body->dofs);
  }
}

void write_parameters(Writer& w, std::size_t at, const Stepper& s) {
  const rigid::ParameterMap& p = s.tree.p;
  w.vector(at, s, p.bodies), w.vector(at, s, p.joints), w.vector(at, s, p.geoms), w.vector(at, s, p.sites);
  w.vector(at, s, p.tendons), w.vector(at, s, p.equalities), w.vector(at, s, p.actuators);
  w.vector(at, s, p.pairs), w.vector(at, s, p.field_of), w.vector(at, s, p.units);
}

void write_tree(Writer& w, std::size_t at, const Stepper& s) {
  const rigid::Tree& t = s.tree;
  w.vector(at, s, t.bodies), w.vector(at, s, t.joints), w.vector(at, s, t.dofs), w.vector(at, s, t.sites);
  w.vector(at, s, t.actuators), w.vector(at, s, t.qpos_spring), w.vector(at, s, t.spinning);
  w.vector(at, s, t.sliders);
  w.vector(at, s, t.geoms);  // meshes and heightfields are refused: nobody follows their pointers
  write_tendons(w, w.vector(at, s, t.tendons), t.tendons);
}

void write_constraints(Writer& w, std::size_t at, const Stepper& s) {
  const rigid::Constraints& c = s.constraints;
  w.vector(at, s, c.kinds), w.vector(at, s, c.pairs), w.vector(at, s, c.geoms), w.vector(at, s, c.dofs);
  w.vector(at, s, c.place), w.vector(at, s, c.cut_limits), w.vector(at, s, c.event_of_row);
  const std::size_t groups = w.vector(at, s, c.groups);
  for (std::size_t i = 0; i < c.groups.size(); ++i) {
    const rigid::ConstraintGroup& g = c.groups[i];
    const std::size_t here = groups + i * sizeof g;
    w.vector(here, g, g.dofs), w.vector(here, g, g.entries), w.vector(here, g, g.sides);
  }
}

std::size_t write_stepper(Writer& w, const Stepper& stepper) {
  const std::size_t at = w.put(&stepper, 1);
  write_tree(w, at, stepper);
  write_parameters(w, at, stepper);
  write_constraints(w, at, stepper);
  const std::size_t dampers = w.vector(at, stepper, stepper.dampers);
  for (std::size_t i = 0; i < stepper.dampers.size(); ++i) {
    const std::vector<Stepper::Damper>& of = stepper.dampers[i];
    w.vector(dampers + i * sizeof of, of, of);
  }
  return at;
}

// Where the stepper and the activity lie in the image.
struct Places {
  std::size_t stepper, activity;
};
Places write(Writer& w, const Stepper& stepper, const Activity& activity) {
  const std::size_t at = write_stepper(w, stepper);
  if (stepper.by_rk4) {  // a shared pointer begins with where it points
    const auto member =
        std::size_t(reinterpret_cast<const char*>(&stepper.by_rk4) - reinterpret_cast<const char*>(&stepper));
    w.point(at + member, write_stepper(w, *stepper.by_rk4));
  }
  const std::vector<char> flags(activity.parameters.begin(), activity.parameters.end());
  const std::size_t first = w.put(flags.data(), flags.size());
  struct {
    char *begin, *end, *limit;
    bool controls;
  } on_device{nullptr, nullptr, nullptr, activity.controls};
  const std::size_t active = w.put(&on_device, 1);
  w.point(active, first), w.point(active + 8, first + flags.size()),
      w.point(active + 16, first + flags.size());
  return {at, active};
}

bool collides_on_device(geometry::ShapeType first, geometry::ShapeType second) {
  using enum geometry::ShapeType;
  const auto is_round = [](geometry::ShapeType t) { return t == sphere || t == capsule; };
  return (first == plane || is_round(first)) && is_round(second);
}

}  // namespace

void refuse_on_device(const Stepper& stepper, const std::string& device) {
  const auto refuse = [&](const std::string& what, const std::string& advice) {
    throw Error({what + " has no kernels for " + device, {}, advice + ", or use device = \"cpu\""});
  };
  if (stepper.adaptive) refuse("integrator = adaptive", "use RK4");
  if (stepper.constraints.noslip > 0 && stepper.constraints.rows > 0)
    refuse("a model with noslip iterations", "set noslip_iterations = 0");
  const rigid::ContactParts& parts = parts_of(stepper.constraints.contact);
  if (stepper.constraints.points == 0) return;
  if (parts.impulses) refuse(std::string("contact = \"") + parts.name + "\"", "use convex, penalty or event");
  for (const rigid::TouchingPair& pair : stepper.constraints.pairs) {
    const auto first = stepper.tree.geoms[std::size_t(pair.geoms.first)].type,
               second = stepper.tree.geoms[std::size_t(pair.geoms.second)].type;
    if (collides_on_device(first, second)) continue;
    refuse(std::string("contact of a ") + geometry::traits(first).name + " with a " +
               geometry::traits(second).name,
           "use spheres, capsules and planes, or exclude the pair");
  }
}

template <class Real>
RigidImage<Real>::RigidImage(const Device& device, const Stepper& stepper, const Activity& activity)
    : memory_(device),
      p_(device),
      map_(stepper.tree.p),
      tape_numbers_(stepper.tape_size()),
      frames_(wants_frames(stepper.tree, activity.parameters)) {
  Writer size(nullptr);
  write(size, stepper, activity);
  memory_.reserve(std::int64_t(size.bytes.size()));
  Writer writer(memory_.data());
  const Places places = write(writer, stepper, activity);
  memory_.upload(writer.bytes.data(), std::int64_t(writer.bytes.size()));
  stepper_at_ = std::int64_t(places.stepper);
  activity_at_ = std::int64_t(places.activity);
}

template <class Real>
void RigidImage<Real>::load(const Real* p) {
  shared_ = p != nullptr;
  if (!p) return;
  std::vector<Real> prepared(p, p + map_.size);
  prepared.resize(std::size_t(map_.prepared_size));
  rigid::prepare_units(map_, prepared.data());
  p_.upload(prepared.data(), map_.prepared_size);
}

template <class Real>
const Stepper* RigidImage<Real>::stepper() const {
  return reinterpret_cast<const Stepper*>(memory_.data() + stepper_at_);
}
template <class Real>
const Activity* RigidImage<Real>::activity() const {
  return reinterpret_cast<const Activity*>(memory_.data() + activity_at_);
}

template class RigidImage<float>;
template class RigidImage<double>;

}  // namespace costate::cuda
