#include "pooled.h"

#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "costate/cluster/processes.h"
#include "costate/cluster/threads.h"
#include "costate/cluster/worker.h"
#include "costate/core/error.h"
#include "study_job.h"

namespace costate::app {
namespace {

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// This program again, as a worker; from Python, the interpreter with the package.
std::vector<std::string> worker_program() {
  const std::filesystem::path exe = std::filesystem::read_symlink("/proc/self/exe");
  if (exe.filename().string().starts_with("python")) return {exe.string(), "-m", "costate", "work"};
  return {exe.string(), "work"};
}

std::unique_ptr<cluster::Transport> transport_of(const std::string& words) {
  const std::size_t colon = words.find(':');
  const std::string kind = words.substr(0, colon),
                    number = colon == std::string::npos ? "0" : words.substr(colon + 1);
  const bool counted =
      !number.empty() && number.size() < 5 && number.find_first_not_of("0123456789") == std::string::npos;
  if (counted && kind == "threads") return cluster::threads(std::atoi(number.c_str()));
  if (counted && kind == "processes") return cluster::processes(std::atoi(number.c_str()), worker_program());
  if (words == "mpi") {
    if (ranks_of_mpi().transport) return ranks_of_mpi().transport();
    throw Error({"this program was built without MPI", "--pool mpi",
                 "install Open MPI (libopenmpi-dev) and build again, or use --pool processes:4"});
  }
  throw Error({"there is no such pool", "--pool " + words, "use threads:2, processes:4 or mpi"});
}

std::string method_of(const study::Study& study) {
  return study.optimize() ? study.optimize()->method : "run";
}

// Whether there is anything to deal out.
bool is_dealt(const study::Study& study, const Arguments& arguments) {
  if (device_of(study) == "mpi")
    throw Error({"the ranks of MPI cannot split one world and compute for a pool at once",
                 "--pool " + arguments.pool, "keep one of --pool and --device mpi"});
  const std::string method = method_of(study);
  return method == "cma_es" || (method == "levenberg_marquardt" && has_rows(study));
}

std::unique_ptr<cluster::Job> job_of(const Arguments& arguments) {
  return std::make_unique<StudyJob>(text_of(arguments.file),
                                    std::filesystem::absolute(arguments.file).string(),
                                    all_settings_of(arguments));
}

}  // namespace

void serve_if_pooled(const study::Study& study, const Arguments& arguments) {
  const Ranks& ranks = ranks_of_mpi();
  if (arguments.pool != "mpi" || !ranks.rank) return;
  const bool dealt = is_dealt(study, arguments);
  if (ranks.rank() > 0) {
    if (dealt) ranks.serve(*job_of(arguments));
    std::exit(0);
  }
  if (dealt) ranks.deal();
}

Pooled::Pooled(const study::Study& study, const Arguments& arguments)
    : variables_(study.variables().size()), data_(study.residuals()) {
  if (is_dealt(study, arguments)) job_ = job_of(arguments);
  if (job_) {
    pool_ = std::make_unique<cluster::Pool>(transport_of(arguments.pool));
    return;
  }
  // Ranks of MPI that have gone already are not told to.
  if (arguments.pool != "mpi") transport_of(arguments.pool);
  fmt::print(stderr,
             "--pool {}: {} asks for one point of one world at a time, which is one block: there is nothing "
             "to deal out, and this process computes it. A pool computes the generations of cma_es, and the "
             "measurements of a [fit] to a simulation in steps.\n",
             arguments.pool, method_of(study));
}

std::function<void(const double*, int, double*)> Pooled::values() {
  if (!pool_ || data_ > 0) return nullptr;
  return pool_->values(*job_, variables_);
}

std::function<void(const std::vector<double>&, double*, double*)> Pooled::residuals() {
  if (!pool_ || data_ == 0) return nullptr;
  return [this](const std::vector<double>& z, double* residual, double* jacobian) {
    std::vector<std::vector<double>> blocks;
    for (int first = 0; first < data_; first += rows_per_block(data_))
      blocks.push_back(point_of_rows(z, first, std::min(rows_per_block(data_), data_ - first)));
    const auto found =
        pool_->population(*job_, blocks, jacobian ? cluster::Want::gradient : cluster::Want::value);
    for (const cluster::Evaluation& e : found) {
      if (e.failure) throw Error(e.failure->message, e.failure->kind);
      const std::size_t rows = e.gradient.size() / (jacobian ? 1 + z.size() : 1);
      residual = std::copy_n(e.gradient.begin(), rows, residual);
      if (jacobian)
        jacobian = std::copy(e.gradient.begin() + std::ptrdiff_t(rows), e.gradient.end(), jacobian);
    }
  };
}

std::string Pooled::state() const {
  if (!pool_) return "";
  const cluster::PoolReport report = pool_->report();
  if (report.workers == 0) return "";
  return fmt::format("  {} workers", report.workers) +
         (report.counts.lost > 0 ? fmt::format(" ({} lost)", report.counts.lost) : "");
}

std::string Pooled::report() const { return pool_ ? pool_->report().to_text() : ""; }

int run_work() {
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the driver
  std::signal(SIGPIPE, SIG_IGN);
  // Whatever prints must not get between the messages.
  const int answers = ::dup(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return cluster::serve(STDIN_FILENO, answers, study_job_of);
}

}  // namespace costate::app
