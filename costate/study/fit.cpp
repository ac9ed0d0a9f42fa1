#include "costate/study/fit.h"

#include <algorithm>
#include <limits>

#include "costate/control/identify/identify.h"
#include "costate/core/error.h"
#include "costate/study/rollout_study.h"

namespace costate::study {
namespace {

using Simulation = RolloutStudy<double>;

const double kNan = std::numeric_limits<double>::quiet_NaN();

// One column per series, one row per step.
control::Measurements recording_of(const Simulation& study, const Arguments<double>& at,
                                   control::Identification& to) {
  const Setup& setup = study.setup();
  std::vector<const Datum*> series;
  for (const Datum& d : setup.data) {
    if (d.series >= series.size()) series.resize(d.series + 1);
    series[d.series] = &d;
  }
  for (const Datum* d : series)
    to.measured.push_back(study.measured(*d, 1)), to.sigma.push_back(d->sigma);  // control/identify: step 1
  control::Measurements recording{.y = {}, .controls = at.controls, .x0 = at.x0};
  recording.y.assign(std::size_t(setup.steps + 1) * series.size(), kNan);
  for (const Datum& d : setup.data)
    recording.y[std::size_t(d.term.steps[0]) * series.size() + d.series] = d.measured;
  return recording;
}

control::Unknown unknown_of(const Simulation& study, const Variable& v) {
  const auto& fields = study.setup().signature.fields(Role::parameter);
  const auto index = std::int64_t(v.index);
  const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& f) {
    return index >= f.offset && index < f.offset + f.size;
  });
  return {.name = field->name,
          .lower = v.lower * v.unit,
          .upper = v.upper * v.unit,
          .scale = v.scale * v.unit,
          .mean = v.mean * v.unit,
          .deviation = v.deviation * v.unit,
          .index = index - field->offset};
}

}  // namespace

FitResiduals::FitResiduals(Study& study, Data data)
    : study_(study), data_(std::move(data)), count_(study.residuals()) {
  for (const Variable& v : study.variables()) count_ += v.deviation > 0;
}

void FitResiduals::evaluate(const std::vector<double>& z, double* residual, double* jacobian) {
  const Optimize& o = *study_.optimize();
  const int n = int(z.size()), data = study_.residuals();
  if (data_)
    data_(z, residual, jacobian);
  else
    study_.residuals(z, residual, jacobian);
  for (int k = 0; k < data; ++k) {
    double slope;
    residual[k] = control::softened(o.robust, o.robust_width, residual[k], slope);
    for (int i = 0; jacobian && i < n; ++i) jacobian[k * n + i] *= slope;
  }
  int row = data;
  for (int i = 0; i < n; ++i) {
    const Variable& v = study_.variables()[std::size_t(i)];
    if (!(v.deviation > 0)) continue;
    residual[row] = (z[std::size_t(i)] * v.scale - v.mean) / v.deviation;
    for (int j = 0; jacobian && j < n; ++j) jacobian[row * n + j] = i == j ? v.scale / v.deviation : 0;
    ++row;
  }
}

std::vector<double> FitResiduals::correction(const std::vector<double>& z) {
  const Optimize& o = *study_.optimize();
  const std::size_t n = z.size(), data = std::size_t(study_.residuals());
  std::vector<double> r(data), J(data * n), weights(data), C(n * n);
  study_.residuals(z, r.data(), J.data());
  for (std::size_t k = 0; k < data; ++k) {
    double slope;
    weights[k] = control::softened(o.robust, o.robust_width, r[k], slope) * slope;
    r[k] = control::bent(o.robust, o.robust_width, r[k]) - slope * slope;
  }
  study_.curvature(z, weights, C.data());
  for (std::size_t k = 0; k < data; ++k)
    for (std::size_t i = 0; r[k] != 0 && i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) C[i * n + j] += r[k] * J[k * n + i] * J[k * n + j];
  return C;
}

std::vector<double> start_from_pieces(Study& any) {
  auto* study = dynamic_cast<Simulation*>(&any);
  if (!study)
    throw Error({"pieces need a simulation in steps of equal length, in double precision", any.file,
                 "leave segment out"});
  std::vector<double> z = study->start();
  const Arguments<double> at = study->arguments(z);
  const Optimize& o = *study->optimize();
  control::Identification problem;
  problem.system = study->setup().system.make<double>();
  problem.parameters = at.parameters;
  problem.segment = o.segment, problem.gap_sigma = o.gap;
  problem.robust = o.robust, problem.robust_width = o.robust_width;
  problem.recordings.push_back(recording_of(*study, at, problem));
  for (const Variable& v : study->variables()) {
    if (v.where == Variable::Where::path)
      throw Error({"pieces are for parameters and the start, and " + v.name + " is a path", any.file,
                   "leave segment out"});
    if (v.where == Variable::Where::parameter) problem.unknowns.push_back(unknown_of(*study, v));
    problem.recordings[0].x0_free |= v.where == Variable::Where::state;
  }
  if (problem.unknowns.empty()) return z;
  const control::Identified found = control::identify(problem, {.iterations = o.iterations});
  for (std::size_t i = 0, next = 0; i < z.size(); ++i) {
    const Variable& v = study->variables()[i];
    const double value = v.where == Variable::Where::parameter ? found.values[next++] : found.x0[0][v.index];
    z[i] = std::clamp(value / v.unit, v.lower, v.upper) / v.scale;
  }
  return z;
}

}  // namespace costate::study
