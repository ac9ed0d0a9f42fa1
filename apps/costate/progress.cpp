#include "progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace costate::app {
namespace {

class WatchedField final : public ode::VectorField {
 public:
  WatchedField(std::shared_ptr<const ode::VectorField> field, std::shared_ptr<std::atomic<double>> time)
      : field_(std::move(field)), time_(std::move(time)) {}

  int states() const override { return field_->states(); }
  int parameters() const override { return field_->parameters(); }
  std::size_t scratch_size() const override { return field_->scratch_size(); }
  void value(double t, const double* x, const double* p, double* dx, double* scratch) const override {
    time_->store(t, std::memory_order_relaxed);
    field_->value(t, x, p, dx, scratch);
  }
  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* dx_dot, double* scratch) const override {
    time_->store(t, std::memory_order_relaxed);
    field_->jvp(t, x, p, t_dot, x_dot, p_dot, dx_dot, scratch);
  }
  void vjp(double t, const double* x, const double* p, const double* dx_bar, double* t_bar, double* x_bar,
           double* p_bar, double* scratch) const override {
    time_->store(t, std::memory_order_relaxed);
    field_->vjp(t, x, p, dx_bar, t_bar, x_bar, p_bar, scratch);
  }
  bool has_second_order() const override { return field_->has_second_order(); }
  void vjp_jvp(double t, const double* x, const double* p, const double* dx_bar, double t_dot,
               const double* x_dot, const double* p_dot, const double* dx_bar_dot, double* t_bar_dot,
               double* x_bar_dot, double* p_bar_dot, double* scratch) const override {
    field_->vjp_jvp(t, x, p, dx_bar, t_dot, x_dot, p_dot, dx_bar_dot, t_bar_dot, x_bar_dot, p_bar_dot,
                    scratch);
  }
  void jacobian(double t, const double* x, const double* p, double* f_x, double* scratch) const override {
    field_->jacobian(t, x, p, f_x, scratch);
  }
  const std::vector<double>& mass() const override { return field_->mass(); }

 private:
  std::shared_ptr<const ode::VectorField> field_;
  std::shared_ptr<std::atomic<double>> time_;
};

}  // namespace

Progress::Progress(io::Problem& problem)
    : t0_(problem.t0), t1_(problem.t1), time_(std::make_shared<std::atomic<double>>(problem.t0)) {
  if (!isatty(STDERR_FILENO)) return;
  problem.field = std::make_shared<WatchedField>(problem.field, time_);
  thread_ = std::thread([this] { show(); });
}

Progress::~Progress() { finish(); }

void Progress::finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  finished_.notify_one();
  thread_.join();
}

void Progress::say(const std::string& activity) {
  const std::lock_guard lock(mutex_);
  activity_ = activity;
}

void Progress::show() {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  bool shown = false;
  for (auto pause = 1000ms; !finished_.wait_for(lock, pause, [this] { return done_; }); pause = 200ms) {
    const double t = time_->load(std::memory_order_relaxed);
    std::fprintf(stderr, "\r\033[K%s: t = %.6g, from %.6g to %.6g", activity_.c_str(), t, t0_, t1_);
    std::fflush(stderr);
    shown = true;
  }
  if (shown) std::fputs("\r\033[K", stderr);
}

}  // namespace costate::app
