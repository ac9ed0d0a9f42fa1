// Pool: the value and the gradient of a Job, computed by many workers, with the same bits from any of them.
//
//   Pool pool(threads(2));                                  // or processes(4), mpi(), ...
//   const Evaluation e = pool.value_and_grad(job, theta);
//   optim::minimize(pool.objective(job), theta0, optim::LbfgsOptions{});
//   print(pool.report().to_text());
//
// With a log (log.h) a run that was killed is resumed by running it again.
// Tests: tests/cluster/pool_test.cpp, processes_test.cpp, simulated_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "costate/cluster/log.h"
#include "costate/cluster/transport.h"
#include "costate/optim/cma_es.h"
#include "costate/optim/levenberg_marquardt.h"

namespace costate::cluster {

struct PoolOptions {
  std::string log = {};   // file of finished blocks; empty: none
  double patience = 1.5;  // a block that takes so many times the average is computed a second time
  int most_tries = 4;     // workers that a block may end
  // After every answer: blocks done, of how many, and how many workers there are.
  std::function<void(std::int64_t done, std::int64_t blocks, int workers)> progress = {};
};

struct PoolReport {
  std::string executor;
  std::int64_t calls = 0;
  double seconds = 0;         // of the calls
  double worker_seconds = 0;  // the same, each as often as there were workers
  int workers = 0;            // at the end
  Counts counts;
  // Time that workers computed, as a part of the time that they were there for.
  double efficiency() const;
  std::string to_text() const;
};

struct Evaluation {
  double value = 0;  // NaN: every world is masked
  std::vector<double> gradient;
  GradientReport report;
  std::optional<Part::Failure> failure;  // of a population: why there is no value
};

struct LeastSquares {
  optim::Result result;
  std::vector<double> covariance;  // of theta, row-major; infinite where the data do not determine it
  std::vector<double> standard_deviation;
  std::int64_t residuals = 0;
};

class Pool {
 public:
  explicit Pool(std::unique_ptr<Transport> transport, PoolOptions options = {});

  // Error where a block has none: that of the lowest such block.
  Evaluation value_and_grad(const Job& job, const std::vector<double>& theta);
  double value(const Job& job, const std::vector<double>& theta);
  // One evaluation per point; a point that cannot be simulated has an infinite value and a failure.
  std::vector<Evaluation> population(const Job& job, const std::vector<std::vector<double>>& points,
                                     Want want = Want::value);

  // For every method of optim/. The job must outlive it.
  optim::Objective objective(const Job& job, std::size_t variables);
  optim::ValuesOfPoints values(const Job& job, std::size_t variables);
  // Of a job whose parts are add_residuals().
  LeastSquares least_squares(const Job& job, const std::vector<double>& theta0,
                             const optim::LevenbergMarquardtOptions& options = {},
                             optim::LevenbergMarquardtState* state = nullptr);

  void resize(int workers) { transport_->resize(workers); }
  PoolReport report() const;

 private:
  std::vector<Part> run(const Job& job, const std::vector<std::vector<double>>& points, Want want);
  void accept(const Event& event, Call& call, const std::vector<std::string>& keys);
  int workers() const { return int(idle_.size() + busy_.size()); }
  void take(const Event& event, Call& call, const std::vector<std::string>& keys);
  void deal(Call& call, const std::vector<std::vector<double>>& points, Want want);
  Evaluation conclude(const Job& job, Part part) const;

  std::unique_ptr<Transport> transport_;
  PoolOptions options_;
  std::unique_ptr<Log> log_;
  std::string log_identity_;
  std::set<int> idle_;
  std::map<int, std::pair<std::int64_t, Task>> busy_;  // with what: the call and its task
  std::int64_t call_ = 0;
  PoolReport report_;
};

// Of a block of a fit with n variables and m residuals r, J (m x n, row-major):
//   value = 1/2 r'r,  sums = (J'r, the upper triangle of J'J by rows, m)
void add_residuals(Part& part, int n, int m, const double* r, const double* J);

}  // namespace costate::cluster
