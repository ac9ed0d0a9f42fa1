#include "costate/control/filter/moments.h"

#include "costate/system/step_columns.h"

namespace costate::control {

Lanes::Lanes(const Estimation& problem)
    : plant_(problem.system, problem.parameters, problem.space),
      block_(plant_),
      measured_(problem.measured),
      work_(problem.system->make_workspace()),
      all_{std::vector<bool>(problem.system->signature().fields(Role::parameter).size(), true), true} {
  const std::int64_t size = std::max<std::int64_t>(1, problem.system->parameter_size());
  p_bar_.reserve(size), p_bar_dot_.reserve(size), p_dot_.reserve(size);
}

void Lanes::load(const Matrix& columns, int first, AlignedBuffer<double>& to) const {
  const int all = plant_.lanes();
  for (Eigen::Index i = 0; i < columns.rows(); ++i)
    for (int l = 0; l < all; ++l)
      to.data()[i * all + l] = columns(i, l < lanes() && first + l < columns.cols() ? first + l : 0);
}
void Lanes::read(const AlignedBuffer<double>& from, int first, Matrix& to) const {
  for (Eigen::Index i = 0; i < to.rows(); ++i)
    for (int l = 0; l < lanes() && first + l < to.cols(); ++l)
      to(i, first + l) = from.data()[i * plant_.lanes() + l];
}
void Lanes::add_parameters(const AlignedBuffer<double>& from, int count, double* p_bar) const {
  for (std::int64_t i = 0; i < plant_.system().signature().parameters(); ++i)
    for (int l = 0; l < std::min(count, lanes()); ++l) p_bar[i] += from.data()[i * plant_.lanes() + l];
}

Matrix Lanes::step(std::int64_t k, const Matrix& x, const double* u) {
  Matrix y(x.rows(), x.cols());
  plant_.spread(u, plant_.controls(), block_.u);
  for (int first = 0; first < x.cols(); first += lanes()) {
    load(x, first, block_.x);
    plant_.system().step({k, 0, 0}, {block_.x.data(), block_.u.data(), plant_.p()}, block_.y.data(), nullptr,
                         *work_);
    read(block_.y, first, y);
  }
  return y;
}

Matrix Lanes::step_vjp(std::int64_t k, const Matrix& x, const double* u, const Matrix& y_bar, double* p_bar) {
  Matrix x_bar(x.rows(), x.cols());
  plant_.spread(u, plant_.controls(), block_.u);
  for (int first = 0; first < x.cols(); first += lanes()) {
    load(x, first, block_.x), load(y_bar, first, block_.y_bar);
    fill_zero(block_.u_bar.data(), plant_.system().control_size());
    fill_zero(p_bar_.data(), plant_.system().parameter_size());
    plant_.system().step_vjp({k, 0, 0}, {block_.x.data(), block_.u.data(), plant_.p()}, nullptr,
                             block_.y_bar.data(), {block_.x_bar.data(), block_.u_bar.data(), p_bar_.data()},
                             all_, *work_);
    read(block_.x_bar, first, x_bar);
    add_parameters(p_bar_, int(x.cols()) - first, p_bar);
  }
  return x_bar;
}

Matrix Lanes::step_jacobian(std::int64_t k, const Vector& x, const double* u,
                            const std::vector<std::int64_t>& parameters) {
  const int n = int(x.size()), all = n + int(parameters.size()), stride = plant_.lanes();
  Matrix D(n, all);
  plant_.spread(x.data(), n, block_.x), plant_.spread(u, plant_.controls(), block_.u);
  step_columns<double>(
      plant_.system(), {k, 0, 0}, {block_.x.data(), block_.u.data(), plant_.p()},
      {block_.x_dot.data(), nullptr, p_dot_.data()}, all, lanes(), block_.y.data(), block_.y_dot.data(),
      *work_,
      [&](std::int64_t j, int l) {
        if (j < n)
          block_.x_dot.data()[j * stride + l] = 1;
        else
          p_dot_.data()[parameters[std::size_t(j - n)] * stride + l] = 1;
      },
      [&](std::int64_t j, int l) {
        for (int i = 0; i < n; ++i) D(i, j) = block_.y_dot.data()[i * stride + l];
      });
  return D;
}

void Lanes::step_hvp(std::int64_t k, const Vector& x, const double* u, const Matrix& x_dot,
                     const Matrix& y_bar, Vector& x_bar_dot, double* p_bar_dot) {
  plant_.spread(x.data(), int(x.size()), block_.x), plant_.spread(u, plant_.controls(), block_.u);
  fill_zero(block_.u_dot.data(), plant_.system().control_size());
  fill_zero(block_.y_bar_dot.data(), plant_.system().state_size());
  Matrix rates(x.size(), x_dot.cols());
  for (int first = 0; first < x_dot.cols(); first += lanes()) {
    load(x_dot, first, block_.x_dot), load(y_bar, first, block_.y_bar);
    for (auto* buffer : {&block_.u_bar, &block_.u_bar_dot})
      fill_zero(buffer->data(), plant_.system().control_size());
    for (auto* buffer : {&p_bar_, &p_bar_dot_}) fill_zero(buffer->data(), plant_.system().parameter_size());
    plant_.system().step_hvp(
        {k, 0, 0}, {block_.x.data(), block_.u.data(), plant_.p()},
        {block_.x_dot.data(), block_.u_dot.data(), nullptr}, block_.y_bar.data(), block_.y_bar_dot.data(),
        {block_.x_bar.data(), block_.u_bar.data(), p_bar_.data()},
        {block_.x_bar_dot.data(), block_.u_bar_dot.data(), p_bar_dot_.data()}, all_, *work_);
    read(block_.x_bar_dot, first, rates);
    add_parameters(p_bar_dot_, int(x_dot.cols()) - first, p_bar_dot);
  }
  x_bar_dot += rates.rowwise().sum();
}

void Lanes::load_directions(const Matrix& directions, int first,
                            const std::vector<std::int64_t>& parameters) {
  const int n = plant_.states(), all = plant_.lanes();
  load(directions.topRows(n), first, block_.x_dot);
  fill_zero(p_dot_.data(), plant_.system().parameter_size());
  for (std::size_t i = 0; i < parameters.size(); ++i)
    for (int l = 0; l < lanes() && first + l < directions.cols(); ++l)
      p_dot_.data()[parameters[i] * all + l] = directions(n + Eigen::Index(i), first + l);
}
void Lanes::read_rates(int first, const std::vector<std::int64_t>& parameters, Matrix& rates) const {
  const int n = plant_.states(), all = plant_.lanes();
  for (int l = 0; l < lanes() && first + l < rates.cols(); ++l) {
    for (int i = 0; i < n; ++i) rates(i, first + l) = block_.x_bar_dot.data()[i * all + l];
    for (std::size_t i = 0; i < parameters.size(); ++i)
      rates(n + Eigen::Index(i), first + l) = p_bar_dot_.data()[parameters[i] * all + l];
  }
}

Matrix Lanes::step_hessian(std::int64_t k, const Vector& x, const double* u, const Matrix& directions,
                           const std::vector<std::int64_t>& parameters, const Vector& y_bar) {
  plant_.spread(x.data(), int(x.size()), block_.x), plant_.spread(u, plant_.controls(), block_.u);
  plant_.spread(y_bar.data(), int(x.size()), block_.y_bar);
  fill_zero(block_.u_dot.data(), plant_.system().control_size());
  fill_zero(block_.y_bar_dot.data(), plant_.system().state_size());
  Matrix rates(directions.rows(), directions.cols());
  for (int first = 0; first < directions.cols(); first += lanes()) {
    load_directions(directions, first, parameters);
    for (auto* buffer : {&block_.u_bar, &block_.u_bar_dot})
      fill_zero(buffer->data(), plant_.system().control_size());
    for (auto* buffer : {&p_bar_, &p_bar_dot_}) fill_zero(buffer->data(), plant_.system().parameter_size());
    plant_.system().step_hvp(
        {k, 0, 0}, {block_.x.data(), block_.u.data(), plant_.p()},
        {block_.x_dot.data(), block_.u_dot.data(), p_dot_.data()}, block_.y_bar.data(),
        block_.y_bar_dot.data(), {block_.x_bar.data(), block_.u_bar.data(), p_bar_.data()},
        {block_.x_bar_dot.data(), block_.u_bar_dot.data(), p_bar_dot_.data()}, all_, *work_);
    read_rates(first, parameters, rates);
  }
  return rates;
}

// A measurement is a term of a final state.
Objective<double>::At Lanes::at() const {
  Objective<double>::At at;
  at.k = at.steps = 1, at.lanes = plant_.lanes();
  at.in = {block_.x.data(), nullptr, plant_.p()};
  return at;
}

void Lanes::measure(std::size_t i, const Matrix& x, Vector& z) {
  for (int first = 0; first < x.cols(); first += lanes()) {
    load(x, first, block_.x);
    std::fill(block_.loss.begin(), block_.loss.end(), 0.0);
    measured_[i]->value(at(), block_.loss.data());
    for (int l = 0; l < lanes() && first + l < x.cols(); ++l) z[first + l] = block_.loss[std::size_t(l)];
  }
}

void Lanes::measure_vjp(std::size_t i, const Matrix& x, const Vector& z_bar, Matrix& x_bar, double* p_bar) {
  const int all = plant_.lanes();
  for (int first = 0; first < x.cols(); first += lanes()) {
    load(x, first, block_.x);
    fill_zero(block_.x_bar.data(), plant_.system().state_size());
    fill_zero(p_bar_.data(), plant_.system().parameter_size());
    measured_[i]->vjp(at(), {block_.x_bar.data(), nullptr, p_bar_.data()});
    for (int l = 0; l < lanes() && first + l < x.cols(); ++l) {
      const double weight = z_bar[first + l];
      for (Eigen::Index j = 0; j < x.rows(); ++j)
        x_bar(j, first + l) += weight * block_.x_bar.data()[j * all + l];
      for (std::int64_t j = 0; j < plant_.system().signature().parameters(); ++j)
        p_bar[j] += weight * p_bar_.data()[j * all + l];
    }
  }
}

void Lanes::measure_hvp(std::size_t i, const Vector& x, const Vector& x_dot, Vector& x_bar_dot,
                        double* p_bar_dot) {
  plant_.spread(x.data(), int(x.size()), block_.x), plant_.spread(x_dot.data(), int(x.size()), block_.x_dot);
  fill_zero(block_.x_bar_dot.data(), plant_.system().state_size());
  fill_zero(p_bar_dot_.data(), plant_.system().parameter_size());
  measured_[i]->hvp(at(), {block_.x_dot.data(), nullptr, nullptr},
                    {block_.x_bar_dot.data(), nullptr, p_bar_dot_.data()});
  for (Eigen::Index j = 0; j < x.size(); ++j) x_bar_dot[j] += block_.x_bar_dot.data()[j * plant_.lanes()];
  add_parameters(p_bar_dot_, 1, p_bar_dot);
}

Matrix Lanes::measure_hessian(std::size_t i, const Vector& x, const Matrix& directions,
                              const std::vector<std::int64_t>& parameters) {
  plant_.spread(x.data(), int(x.size()), block_.x);
  Matrix rates(directions.rows(), directions.cols());
  for (int first = 0; first < directions.cols(); first += lanes()) {
    load_directions(directions, first, parameters);
    fill_zero(block_.x_bar_dot.data(), plant_.system().state_size());
    fill_zero(p_bar_dot_.data(), plant_.system().parameter_size());
    measured_[i]->hvp(at(), {block_.x_dot.data(), nullptr, p_dot_.data()},
                      {block_.x_bar_dot.data(), nullptr, p_bar_dot_.data()});
    read_rates(first, parameters, rates);
  }
  return rates;
}

}  // namespace costate::control
