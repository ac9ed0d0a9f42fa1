#include "costate/study/field_quantities.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "costate/core/aligned_buffer.h"
#include "costate/core/error.h"
#include "costate/core/names.h"

namespace costate::study {
namespace {

constexpr std::size_t kMostNumbers = 64;  // that a formula looks at under one name

template <class Real>
class ObservedObjective final : public Objective<Real> {
 public:
  using typename Objective<Real>::At;
  ObservedObjective(std::shared_ptr<const FieldQuantities::Observed> observed, ObjectivePtr<Real> of)
      : observed_(std::move(observed)), of_(std::move(of)) {
    for (const auto& [place, number] : observed_->measured)
      measured_.emplace_back(place, number.template make<Real>({}));
  }

  void check(std::int64_t steps, std::int64_t worlds) const override { of_->check(steps, worlds); }
  std::int64_t next(std::int64_t k, std::int64_t steps) const override { return of_->next(k, steps); }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override { return of_->previous(k, steps); }

  void value(const At& at, double* loss) const override {
    const std::vector<Real> z = observe(at);
    of_->value(inner(at, z), loss);
  }
  void vjp(const At& at, const Cotangents<Real>& bar) const override {
    const std::vector<Real> z = observe(at);
    std::vector<Real> z_bar(z.size(), Real(0));
    of_->vjp(inner(at, z), {z_bar.data(), bar.u, bar.p});
    spread(at, z_bar, bar.x);
    hand_on_measured(at, z_bar, bar);
  }
  // Where nothing is measured z is linear in x.
  void hvp(const At& at, const Inputs<Real>& in_dot, const Cotangents<Real>& bar_dot) const override {
    if (!measured_.empty()) return Objective<Real>::hvp(at, in_dot, bar_dot);
    const std::vector<Real> z = observe(at);
    std::vector<Real> z_dot, z_bar_dot(z.size(), Real(0));
    Inputs<Real> inner_dot = in_dot;
    if (in_dot.x) {
      At moved = at;
      moved.in.x = in_dot.x;
      z_dot = observe(moved);
      inner_dot.x = z_dot.data();
    }
    of_->hvp(inner(at, z), inner_dot, {z_bar_dot.data(), bar_dot.u, bar_dot.p});
    spread(at, z_bar_dot, bar_dot.x);
  }

 private:
  // The transpose of observe.
  void spread(const At& at, const std::vector<Real>& z_bar, Real* x_bar) const {
    if (!x_bar) return;
    each_element(at.lanes,
                 [&](std::size_t j, std::int64_t from, double share, std::size_t l, std::size_t lanes) {
                   x_bar[std::size_t(from) * lanes + l] += Real(share * double(z_bar[j * lanes + l]));
                 });
  }
  // z_bar_j dq_j/dx and z_bar_j dq_j/dp, lane by lane.
  void hand_on_measured(const At& at, const std::vector<Real>& z_bar, const Cotangents<Real>& bar) const {
    // Packs are loaded and stored whole, so each begins where a pack may.
    const std::int64_t lanes = at.lanes, nx = observed_->states * lanes, np = observed_->parameters * lanes;
    AlignedBuffer<Real> x(nx), p(np + 1);
    for (const auto& [j, number] : measured_) {
      std::fill_n(x.data(), nx, Real(0));
      std::fill_n(p.data(), np, Real(0));
      number->vjp(at, {x.data(), nullptr, p.data()});
      const auto add = [&, from = &z_bar[j * std::size_t(lanes)]](const Real* slope, std::int64_t n,
                                                                  Real* to) {
        for (std::int64_t i = 0; to && i < n; ++i) to[i] += from[i % lanes] * slope[i];
      };
      add(x.data(), nx, bar.x);
      add(p.data(), np, bar.p);
    }
  }
  template <class Visit>
  void each_element(int lanes, const Visit& visit) const {
    for (std::size_t j = 0; j < observed_->means.size(); ++j) {
      if (observed_->means[j].empty()) continue;  // measured
      const double share = 1 / double(observed_->means[j].size());
      for (const std::int64_t from : observed_->means[j])
        for (int l = 0; l < lanes; ++l) visit(j, from, share, std::size_t(l), std::size_t(lanes));
    }
  }
  std::vector<Real> observe(const At& at) const {
    std::vector<double> sum(observed_->means.size() * std::size_t(at.lanes), 0.0);
    each_element(at.lanes,
                 [&](std::size_t j, std::int64_t from, double share, std::size_t l, std::size_t lanes) {
                   sum[j * lanes + l] += share * double(at.in.x[std::size_t(from) * lanes + l]);
                 });
    for (const auto& [j, number] : measured_) number->value(at, &sum[j * std::size_t(at.lanes)]);
    return {sum.begin(), sum.end()};
  }
  At inner(const At& at, const std::vector<Real>& z) const {
    At in = at;
    in.in.x = z.data();
    return in;
  }

  std::shared_ptr<const FieldQuantities::Observed> observed_;
  ObjectivePtr<Real> of_;
  std::vector<std::pair<std::size_t, ObjectivePtr<Real>>> measured_;
};

}  // namespace

FieldQuantities::FieldQuantities(const Signature& system, std::vector<RowGroup> groups,
                                 std::vector<MeasuredNumber> measured)
    : groups_(std::move(groups)),
      measured_(std::move(measured)),
      given_(groups_.size()),
      observed_(std::make_shared<Observed>()) {
  observed_->states = system.states(), observed_->parameters = system.parameters();
  for (const Field& f : system.fields(Role::state)) {
    RowGroup group{
        .name = f.name, .offset = f.offset, .rows = std::vector<std::int64_t>(std::size_t(f.size))};
    std::iota(group.rows.begin(), group.rows.end(), 0);
    groups_.push_back(std::move(group));
  }
  for (const Role role : {Role::control, Role::parameter})
    observed_->signature.add(role, system.fields(role));
}

std::string FieldQuantities::all_points() const {
  return given_ > 0 && groups_[0].dimension > 1 ? groups_[0].name : std::string();
}

const MeasuredNumber* FieldQuantities::measured(const std::string& path) const {
  for (const MeasuredNumber& number : measured_)
    if (number.name == path) return &number;
  return nullptr;
}

FieldQuantities::Found FieldQuantities::find(const std::string& path) const {
  std::vector<std::string> names;
  for (const RowGroup& group : groups_) {
    if (path == group.name) return {&group, ""};
    if (path.starts_with(group.name + "/")) {
      const std::string part = path.substr(group.name.size() + 1);
      if (part == "mean" || part.find_first_not_of("0123456789") == std::string::npos) return {&group, part};
    }
    names.push_back(group.name);
  }
  for (const MeasuredNumber& number : measured_) names.push_back(number.name);
  const std::string near = nearest_name(path, names);
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < 8; ++i) list += (i ? ", " : "") + names[i];
  throw Error({"there is no quantity '" + path + "'", "",
               near.empty() ? "there is: " + list + "; and /mean, or the number of a row, behind each"
                            : "did you mean '" + near + "'?"});
}

std::vector<FieldQuantities::Mean> FieldQuantities::means_of(const std::string& path) const {
  const auto [group, part] = find(path);
  const std::size_t dimension = group->dimension;
  const auto element = [&](std::size_t row, std::size_t a) {
    return group->offset + group->rows[row] * group->dimension + std::int64_t(a);
  };
  std::vector<Mean> means;
  if (part == "mean") {
    for (std::size_t a = 0; a < dimension; ++a) {
      means.emplace_back();
      for (std::size_t i = 0; i < group->rows.size(); ++i) means.back().push_back(element(i, a));
    }
    return means;
  }
  std::size_t first = 0, last = group->rows.size();
  if (!part.empty()) {
    std::from_chars(part.data(), part.data() + part.size(), first);
    if (first >= last)
      throw Error(
          {"'" + group->name + "' has " + counted(std::int64_t(last), "row") + ", numbered from 0", "", ""});
    last = first + 1;
  }
  if ((last - first) * dimension > kMostNumbers)
    throw Error({"'" + path + "' is " + std::to_string((last - first) * dimension) +
                     " numbers, more than a formula or a target is about",
                 "", "write " + path + "/mean, or " + path + "/0 for one row"});
  for (std::size_t i = first; i < last; ++i)
    for (std::size_t a = 0; a < dimension; ++a) means.push_back({element(i, a)});
  return means;
}

Quantity FieldQuantities::numbers(const std::string& path, const std::string& name) {
  std::string called = name.empty() ? "quantity_" + std::to_string(paths_.size()) : name;
  const auto& known = observed_->signature.fields(Role::state);
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (name.empty() && paths_[i] == path) called = known[i].name;
    if (known[i].name == name && paths_[i] != path)
      throw Error({"'" + name + "' stands for " + paths_[i] + " already", "", "choose another name"});
  }
  const Field* found = observed_->signature.find_if(Role::state, called);
  const MeasuredNumber* number = measured(path);
  if (!found) {
    if (number) (void)number->value.make<double>({});  // it may not apply, and says why
    const std::vector<Mean> means = number ? std::vector<Mean>(1) : means_of(path);
    if (number) observed_->measured.emplace_back(observed_->means.size(), number->value);
    observed_->signature.state(called, std::int64_t(means.size()));
    observed_->means.insert(observed_->means.end(), means.begin(), means.end());
    paths_.push_back(path);
    found = &observed_->signature.find(Role::state, called);
  }
  Quantity q{.field = called, .size = found->size};
  if (number) return q;
  const int dimension = find(path).group->dimension;
  if (dimension > 1) {
    q.points.dimension = dimension;
    q.points.elements.resize(found->size);
    std::iota(q.points.elements.begin(), q.points.elements.end(), found->offset);
  }
  return q;
}

Quantity FieldQuantities::points(const std::string& path) {
  const auto none = [&] {
    return Error({"'" + path + "' is not a set of points", "",
                  all_points().empty() ? "" : "write for instance " + all_points()});
  };
  if (measured(path)) throw none();
  const auto [group, part] = find(path);
  if (group->dimension < 2) throw none();
  if (!part.empty()) return numbers(path, "");
  Quantity q{.size = std::int64_t(group->rows.size()) * group->dimension,
             .observed = false,
             .points = {.dimension = group->dimension, .volume = group->volume, .rows = group->rows}};
  for (const std::int64_t row : group->rows)
    for (int a = 0; a < group->dimension; ++a)
      q.points.elements.push_back(group->offset + row * group->dimension + a);
  return q;
}

ObjectivePtr<float> FieldQuantities::objective(ObjectivePtr<float> of) const {
  return std::make_shared<ObservedObjective<float>>(observed_, std::move(of));
}
ObjectivePtr<double> FieldQuantities::objective(ObjectivePtr<double> of) const {
  return std::make_shared<ObservedObjective<double>>(observed_, std::move(of));
}

}  // namespace costate::study
