#include "pooled.h"

#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "costate/cluster/bytes.h"
#include "costate/cluster/processes.h"
#include "costate/cluster/threads.h"
#include "costate/cluster/worker.h"
#include "costate/core/error.h"
#include "costate/system/pool.h"

namespace costate::app {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

// The loss of a study at a point: one world, one block. It travels as the text of its file.
class StudyJob final : public cluster::Job {
 public:
  StudyJob(std::string text, std::string name, Settings settings)
      : text_(std::move(text)), name_(std::move(name)), settings_(std::move(settings)), studies_([this] {
          io::Opening opening;
          for (const auto& [key, value] : settings_) opening.settings.emplace_back(key, value);
          return io::parse_study(text_, name_, opening);
        }) {
    auto study = studies_.take();
    identity_ = study->identity();
    for (const study::Variable& v : study->variables())
      identity_ += " " + v.name + "/" + std::to_string(v.scale);
    studies_.give_back(std::move(study));
  }

  cluster::Partition partition() const override { return {1, 1}; }
  std::string identity() const override { return identity_; }
  std::string description() const override {
    cluster::Writer to;
    to.text("study").text(name_).text(text_).integer(std::int64_t(settings_.size()));
    for (const auto& [key, value] : settings_) to.text(key).text(value);
    return to.bytes();
  }
  cluster::Part part(const std::vector<double>& theta, const cluster::Block&, cluster::Want) const override {
    cluster::Part part;
    auto study = studies_.take();
    part.value = study->value(theta);
    studies_.give_back(std::move(study));
    return part;
  }

 private:
  std::string text_, name_, identity_;
  Settings settings_;
  mutable costate::Pool<study::Study> studies_;
};

std::unique_ptr<cluster::Job> job_of(const std::string& description) {
  cluster::Reader from(description);
  if (from.text() != "study") throw Error("a worker of the command line computes studies, and this is none");
  const std::string name = from.text();
  std::string text = from.text();
  Settings settings;
  for (std::int64_t left = from.integer(); left > 0; --left) {
    std::string key = from.text();
    settings.emplace_back(std::move(key), from.text());
  }
  return std::make_unique<StudyJob>(std::move(text), name, std::move(settings));
}

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

}  // namespace

Ranks& ranks_of_mpi() {
  static Ranks ranks;
  return ranks;
}

Pooled::Pooled(const study::Study& study, const Arguments& arguments)
    : variables_(study.variables().size()),
      generations_(study.optimize() != nullptr && study.optimize()->method == "cma_es") {
  if (generations_)
    job_ = std::make_unique<StudyJob>(text_of(arguments.file),
                                      std::filesystem::absolute(arguments.file).string(),
                                      all_settings_of(arguments));
  if (arguments.pool == "mpi" && ranks_of_mpi().rank && ranks_of_mpi().rank() > 0) {
    if (job_) ranks_of_mpi().serve(*job_);
    std::exit(0);
  }
  if (generations_) {
    pool_ = std::make_unique<cluster::Pool>(transport_of(arguments.pool));
    return;
  }
  // Ranks of MPI that have gone already are not told to.
  if (arguments.pool != "mpi") transport_of(arguments.pool);
  const std::string method = study.optimize() ? study.optimize()->method : "run";
  fmt::print(stderr,
             "--pool {}: {} asks for one point of one world at a time, which is one block: there is nothing "
             "to deal out, and this process computes it. A pool computes the generations of cma_es.\n",
             arguments.pool, method);
}

std::function<void(const double*, int, double*)> Pooled::values() {
  if (!pool_) return nullptr;
  return pool_->values(*job_, variables_);
}

std::string Pooled::report() const { return pool_ ? pool_->report().to_text() : ""; }

int run_work() {
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the driver
  std::signal(SIGPIPE, SIG_IGN);
  // Whatever prints must not get between the messages.
  const int answers = ::dup(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return cluster::serve(STDIN_FILENO, answers, job_of);
}

}  // namespace costate::app
