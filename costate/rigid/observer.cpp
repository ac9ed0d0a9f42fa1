#include "costate/rigid/observer.h"

#include <algorithm>
#include <mutex>

#include "costate/core/error.h"
#include "costate/core/names.h"
#include "costate/core/pack.h"
#include "costate/rigid/dynamics/integrate.h"
#include "costate/rigid/dynamics/observe.h"

namespace costate::rigid {
namespace {

template <class Elements>
std::vector<std::string> names_in(const Elements& elements) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < elements.size(); ++i) names.push_back(name_of(elements[i].name, i));
  return names;
}

// What a path is about: "site", "tip", "velocity".
struct Path {
  std::string kind, name, part;
};

constexpr const char* kParts[] = {"velocity", "angular_velocity", "xaxis", "yaxis", "zaxis", "com"};

[[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& advice) {
  throw Error({what, path, advice});
}

Path split(const std::string& path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string::npos)
    refuse(
        path, "this names no quantity of the model",
        "write site/NAME, body/NAME, geom/NAME, joint/NAME, subtree/NAME, sensor/NAME or energy/kinetic, and "
        "/velocity, /xaxis, ... behind the first");
  Path r{path.substr(0, slash), path.substr(slash + 1), ""};
  const std::size_t last = r.name.rfind('/');
  if (last == std::string::npos) return r;
  const std::string end = r.name.substr(last + 1);
  if (std::find(std::begin(kParts), std::end(kParts), end) == std::end(kParts)) return r;
  r.part = end;
  r.name.resize(last);
  return r;
}

std::size_t index_of(const std::string& path, const std::string& kind, const std::string& name,
                     const std::vector<std::string>& names) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return std::size_t(at - names.begin());
  const std::string near = nearest_name(name, names);
  refuse(path, "the model has no " + kind + " '" + name + "'",
         names.empty()  ? "it has no " + kind + " at all"
         : near.empty() ? "it has for instance '" + names.front() + "'"
                        : "did you mean '" + near + "'?");
}

// A body and all it carries.
std::vector<int> subtree(const Model& m, int root) {
  std::vector<int> bodies;
  for (int i = 1; i < int(m.bodies.size()); ++i) {
    int up = i;
    while (up > root) up = m.bodies[up].parent;
    if (up == root) bodies.push_back(i);
  }
  return bodies;
}

Observed several_bodies(const Model& m, const std::string& text, const Path& path) {
  Observed o;
  if (path.kind == "energy") {
    o.bodies = subtree(m, 0);
    if (path.name != "kinetic" && path.name != "gravity")
      refuse(text, "there is no energy '" + path.name + "'", "write energy/kinetic or energy/gravity");
    o.kind = path.name == "kinetic" ? Observed::Kind::kinetic : Observed::Kind::weight;
    return o;
  }
  if (!path.part.empty() && path.part != "velocity")
    refuse(text, "a subtree has no '" + path.part + "'", "write subtree/NAME or subtree/NAME/velocity");
  o.bodies = subtree(m, int(index_of(text, "body", path.name, names_in(m.bodies))));
  double mass = 0;
  for (const int i : o.bodies) mass += m.bodies[i].mass;
  if (mass <= 0) refuse(text, "nothing in this subtree has a mass", "choose another body");
  o.kind = path.part.empty() ? Observed::Kind::mean : Observed::Kind::mean_velocity;
  o.size = 3;
  return o;
}

// The quantity that a sensor of the file measures.
std::string path_of_sensor(const Model& m, const std::string& text, const std::string& name) {
  const Sensor& s = m.sensors[index_of(text, "sensor", name, names_in(m.sensors))];
  const auto of = [&]() -> std::string {
    switch (s.object_type) {
      case ObjectType::joint:
        return "joint/" + name_of(m.joints[s.object].name, s.object);
      case ObjectType::body:
        return "body/" + name_of(m.bodies[s.object].name, s.object) + "/com";
      case ObjectType::xbody:
        return "body/" + name_of(m.bodies[s.object].name, s.object);
      case ObjectType::geom:
        return "geom/" + name_of(m.geoms[s.object].name, s.object);
      case ObjectType::site:
        return "site/" + name_of(m.sites[s.object].name, s.object);
      default:
        return {};
    }
  };
  const auto tree = [&] { return "subtree/" + name_of(m.bodies[s.object].name, s.object); };
  const bool simple = s.reference < 0 && s.cutoff == 0;
  switch (simple ? s.type : SensorType::clock) {
    case SensorType::jointpos:
    case SensorType::ballquat:
    case SensorType::framepos:
      return of();
    case SensorType::jointvel:
    case SensorType::ballangvel:
    case SensorType::framelinvel:
      return of() + "/velocity";
    case SensorType::frameangvel:
      return of() + "/angular_velocity";
    case SensorType::framexaxis:
      return of() + "/xaxis";
    case SensorType::frameyaxis:
      return of() + "/yaxis";
    case SensorType::framezaxis:
      return of() + "/zaxis";
    case SensorType::subtreecom:
      return tree();
    case SensorType::subtreelinvel:
      return tree() + "/velocity";
    default:
      refuse(text, "sensor '" + name + "' is not one that can be observed",
             "positions, axes and velocities of joints, frames and subtrees can, without reference frame and "
             "cutoff");
  }
}

// Where a quantity is fixed, and which of its parts is asked for.
Observed resolve(const Model& m, const ParameterMap& map, const std::string& text) {
  Path path = split(text);
  if (path.kind == "sensor") return resolve(m, map, path_of_sensor(m, text, path.name));
  if (path.kind == "subtree" || path.kind == "energy") return several_bodies(m, text, path);
  // "body/hand/com/velocity": of the centre of mass.
  const bool of_centre = path.kind == "body" && !path.part.empty() && path.name.ends_with("/com");
  if (of_centre) path.name.resize(path.name.size() - 4);
  Observed o;
  if (path.kind == "joint") {
    const std::size_t i = index_of(text, "joint", path.name, names_in(m.joints));
    const Joint& j = m.joints[i];
    const bool velocity = path.part == "velocity";
    if (!velocity && !path.part.empty())
      refuse(text, "a joint has no '" + path.part + "'", "write joint/NAME or joint/NAME/velocity");
    o.state = velocity ? m.nq + j.dof : j.qpos;
    o.size = velocity ? dof_size(j.type) : qpos_size(j.type);
    return o;
  }
  o.size = 3;
  if (path.kind == "body") {
    const std::size_t i = index_of(text, "body", path.name, names_in(m.bodies));
    o.body = int(i);
    if (path.part == "com" || of_centre) {
      o.pos = m.bodies[i].com;
      o.pos_parameter = map.bodies[i].com;
    }
  } else if (path.kind == "site") {
    const std::size_t i = index_of(text, "site", path.name, names_in(m.sites));
    o.body = m.sites[i].body;
    o.pos = m.sites[i].pos;
    o.quat = m.sites[i].quat;
    o.pos_parameter = map.sites[i].pos;
    o.quat_parameter = map.sites[i].quat;
    o.inverse_quat_norm = map.sites[i].inverse_quat_norm;
  } else if (path.kind == "geom") {
    const std::size_t i = index_of(text, "geom", path.name, names_in(m.geoms));
    o.body = m.geoms[i].body;
    o.pos = m.geoms[i].pos;
    o.quat = m.geoms[i].quat;
    o.pos_parameter = map.geoms[i].pos;
    o.quat_parameter = map.geoms[i].quat;
    o.inverse_quat_norm = map.geoms[i].inverse_quat_norm;
  } else {
    refuse(text, "there are no quantities of a '" + path.kind + "'",
           "write site, body, geom, joint, subtree, sensor or energy");
  }
  if (path.part == "com" && path.kind != "body")
    refuse(text, "only bodies have a centre of mass", "write body/NAME/com");
  o.kind = path.part == "velocity"           ? Observed::Kind::velocity
           : path.part == "angular_velocity" ? Observed::Kind::angular_velocity
           : path.part.ends_with("axis")     ? Observed::Kind::axis
                                             : Observed::Kind::position;
  if (o.kind == Observed::Kind::axis) o.column = path.part[0] - 'x';
  return o;
}

template <class S>
std::vector<S> prepared(const Tree& tree, const value_t<S>* from, int stride) {
  std::vector<S> p(tree.p.prepared_size);
  for (int i = 0; i < tree.p.size; ++i) p[i] = load<S>(from + i * stride);
  prepare_units(tree.p, p.data());
  return p;
}

std::vector<double> defaults_of(const Signature& signature) {
  std::vector<double> p;
  for (const Field& f : signature.fields(Role::parameter)) {
    for (std::int64_t i = 0; i < f.size; ++i)
      p.push_back(f.defaults[f.defaults.size() == 1 ? 0 : static_cast<std::size_t>(i)]);
  }
  return p;
}

}  // namespace

struct Observer::Plan {
  Tree tree;
  std::vector<Observed> list;
  Signature signature;      // states, quantities
  std::int64_t states = 0;  // of the system
  std::int64_t size = 0;    // with the quantities
  Activity all;             // every parameter
  std::vector<double> defaults;
};

namespace {

template <class Real, class Plan>
class ObservedObjective final : public Objective<Real> {
  using S = NativePack<Real>;
  static constexpr int kLanes = lanes_of<S>;
  using At = typename Objective<Real>::At;

 public:
  ObservedObjective(std::shared_ptr<const Plan> plan, ObjectivePtr<Real> of)
      : plan_(std::move(plan)), of_(std::move(of)) {}

  void check(std::int64_t steps, std::int64_t worlds) const override { of_->check(steps, worlds); }
  std::int64_t next(std::int64_t k, std::int64_t steps) const override { return of_->next(k, steps); }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override { return of_->previous(k, steps); }

  void value(const At& at, double* loss) const override {
    const auto s = borrow();
    of_->value(look(at, *s), loss);
    give_back(s);
  }

  void vjp(const At& at, const Cotangents<Real>& bar) const override {
    const auto s = borrow();
    const Tree& tree = plan_->tree;
    const At inner = look(at, *s);
    std::fill(s->z_bar.begin(), s->z_bar.end(), S(0));
    of_->vjp(inner, {reinterpret_cast<Real*>(s->z_bar.data()), bar.u, bar.p});
    std::fill(s->q_bar.begin(), s->q_bar.end(), S(0));
    std::fill(s->v_bar.begin(), s->v_bar.end(), S(0));
    std::fill(s->p_bar.begin(), s->p_bar.end(), S(0));
    // The states themselves come first among what is observed.
    for (std::size_t i = 0; i < s->x.size(); ++i) s->x_bar[i] = s->z_bar[i];
    const Wanted wanted{&plan_->all, &tree.p.field_of, true};
    observe_vjp(tree, plan_->list, wanted, s->p.data(), s->x.data(), s->z_bar.data(), s->q_bar.data(),
                s->v_bar.data(), s->x_bar.data(), bar.p ? s->p_bar.data() : nullptr, s->d);
    ambient_cotangent(tree, s->x.data(), s->q_bar.data(), s->ambient.data());
    for (int i = 0; bar.x && i < int(s->x.size()); ++i) {
      S sum = s->x_bar[i];
      if (i < tree.nq) sum += s->ambient[i];
      if (i >= tree.nq && i < tree.nq + tree.nv) sum += s->v_bar[i - tree.nq];
      add(bar.x + i * kLanes, sum);
    }
    for (int i = 0; bar.p && i < tree.p.size; ++i) add(bar.p + i * kLanes, s->p_bar[i]);
    give_back(s);
  }

 private:
  struct Scratch {
    explicit Scratch(const Plan& plan)
        : d(plan.tree),
          p(plan.tree.p.prepared_size),
          p_bar(p.size()),
          x(plan.states),
          x_bar(x.size()),
          z(plan.size),
          z_bar(z.size()),
          q_bar(plan.tree.dofs.size()),
          v_bar(q_bar.size()),
          ambient(plan.tree.nq) {}
    Data<S> d;
    std::vector<S> p, p_bar, x, x_bar, z, z_bar, q_bar, v_bar, ambient;
  };

  static void add(Real* to, const S& s) { store<S>(to, load<S>(to) + s); }

  // What the inner objective sees in the place of the state.
  At look(const At& at, Scratch& s) const {
    if (at.lanes != kLanes) throw Error("an observer belongs to the system of its own model and precision");
    for (std::size_t i = 0; i < s.x.size(); ++i) s.x[i] = load<S>(at.in.x + std::int64_t(i) * kLanes);
    for (int i = 0; i < plan_->tree.p.size; ++i) s.p[i] = load<S>(at.in.p + std::int64_t(i) * kLanes);
    prepare_units(plan_->tree.p, s.p.data());
    std::copy(s.x.begin(), s.x.end(), s.z.begin());
    observe(plan_->tree, plan_->list, s.p.data(), s.x.data(), s.z.data(), s.d);
    At inner = at;
    inner.in.x = reinterpret_cast<const Real*>(s.z.data());
    return inner;
  }

  // An objective is shared by the threads of a rollout: each takes scratch of its own.
  std::shared_ptr<Scratch> borrow() const {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_shared<Scratch>(*plan_);
    auto s = std::move(free_.back());
    free_.pop_back();
    return s;
  }
  void give_back(const std::shared_ptr<Scratch>& s) const {
    const std::lock_guard lock(mutex_);
    free_.push_back(s);
  }

  std::shared_ptr<const Plan> plan_;
  ObjectivePtr<Real> of_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<Scratch>> free_;
};

}  // namespace

Observer::Observer(const Model& model, const Signature& system, const std::vector<Quantity>& quantities) {
  auto plan = std::make_shared<Plan>();
  Signature own;
  plan->tree = make_tree(model, add_parameters(model, own));
  const std::vector<Field>&ours = own.fields(Role::parameter), &theirs = system.fields(Role::parameter);
  const auto same = [](const Field& a, const Field& b) { return a.name == b.name && a.size == b.size; };
  if (theirs.size() < ours.size() || !std::equal(ours.begin(), ours.end(), theirs.begin(), same))
    throw Error("an observer's system must begin with the parameters of its model");
  plan->defaults = defaults_of(own);
  plan->all.parameters.assign(own.fields(Role::parameter).size(), true);
  for (const Field& f : system.fields(Role::state)) plan->signature.state(f.name, f.size, f.unit);
  for (const Field& f : system.fields(Role::control)) plan->signature.control(f.name, f.size, f.unit);
  for (const Field& f : system.fields(Role::parameter)) {
    f.defaults.size() == 1 ? plan->signature.parameter_field(f.name, f.size, f.defaults[0], f.unit)
                           : plan->signature.parameter(f.name, f.defaults, f.unit);
  }
  plan->states = system.states();
  for (const Quantity& q : quantities) {
    Observed o = resolve(model, plan->tree.p, q.path);
    o.at = int(plan->signature.states());
    plan->signature.state(q.name, o.size);
    plan->list.push_back(o);
  }
  plan->size = plan->signature.states();
  plan_ = plan;
}

Observer::~Observer() = default;

const Signature& Observer::signature() const { return plan_->signature; }

template <class Real>
ObjectivePtr<Real> Observer::objective(ObjectivePtr<Real> of) const {
  return std::make_shared<ObservedObjective<Real, Plan>>(plan_, std::move(of));
}
template ObjectivePtr<float> Observer::objective(ObjectivePtr<float>) const;
template ObjectivePtr<double> Observer::objective(ObjectivePtr<double>) const;

std::vector<double> Observer::values(const std::vector<double>& x, const std::vector<double>& p) const {
  const Tree& tree = plan_->tree;
  Data<double> d(tree);
  const std::vector<double> ready = prepared<double>(tree, p.empty() ? plan_->defaults.data() : p.data(), 1);
  std::vector<double> z(plan_->size);
  observe(tree, plan_->list, ready.data(), x.data(), z.data(), d);
  return {z.begin() + plan_->states, z.end()};
}

std::vector<std::array<double, 7>> Observer::body_poses(const std::vector<double>& x,
                                                        const std::vector<double>& p) const {
  const Tree& tree = plan_->tree;
  Data<double> d(tree);
  const std::vector<double> ready = prepared<double>(tree, p.empty() ? plan_->defaults.data() : p.data(), 1);
  kinematics(tree, ready.data(), x.data(), d);
  std::vector<std::array<double, 7>> poses;
  for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
    const Vec3<double> at = root_origin(tree, ready.data(), x.data(), tree.bodies[i].root) + d.x[i];
    const Quat<double>& r = d.quat[i];
    poses.push_back({at.x, at.y, at.z, r.w, r.x, r.y, r.z});
  }
  return poses;
}

}  // namespace costate::rigid
