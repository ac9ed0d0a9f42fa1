#include "study_job.h"

#include <algorithm>

#include "costate/cluster/bytes.h"
#include "costate/core/error.h"
#include "costate/study/rollout_study.h"
#include "costate/system/ranges.h"

namespace costate::app {
namespace {

// The same study with some of its data only; its system is the other one's, which outlives it.
template <class Real>
std::unique_ptr<study::Study> some_rows(study::RolloutStudy<Real>& whole, std::size_t first,
                                        std::size_t count) {
  study::Setup setup = whole.setup();
  setup.data.assign(whole.setup().data.begin() + std::ptrdiff_t(first),
                    whole.setup().data.begin() + std::ptrdiff_t(first + count));
  const System<Real>* system = &whole.rollout().system();
  const auto borrowed = [system] {
    return std::shared_ptr<const System<Real>>(std::shared_ptr<void>(), system);
  };
  if constexpr (sizeof(Real) == 4)
    setup.system.in_float = borrowed;
  else
    setup.system.in_double = borrowed;
  auto some = std::make_unique<study::RolloutStudy<Real>>(std::move(setup));
  some->choose(whole.variables());
  return some;
}

std::unique_ptr<study::Study> some_rows(study::Study& whole, std::size_t first, std::size_t count) {
  if (first + count > std::size_t(whole.residuals()))
    throw Error("a block of residuals is past the last measurement");
  if (auto* in_double = dynamic_cast<study::RolloutStudy<double>*>(&whole))
    return some_rows(*in_double, first, count);
  if (auto* in_float = dynamic_cast<study::RolloutStudy<float>*>(&whole))
    return some_rows(*in_float, first, count);
  throw Error("the residuals of this study are computed all at once");
}

}  // namespace

bool has_rows(const study::Study& study) {
  return dynamic_cast<const study::RolloutStudy<double>*>(&study) ||
         dynamic_cast<const study::RolloutStudy<float>*>(&study);
}

// Packs of 8 worlds, each with its own measurement (RolloutStudy); work for many workers where there is any.
int rows_per_block(int residuals) { return std::clamp((residuals / 16 + 7) / 8 * 8, 8, 32); }

std::vector<double> point_of_rows(std::vector<double> z, int first, int count) {
  z.push_back(first), z.push_back(count);
  return z;
}

StudyJob::StudyJob(std::string text, std::string name, std::vector<io::Setting> settings)
    : text_(std::move(text)),
      name_(std::move(name)),
      settings_(std::move(settings)),
      studies_([this] { return io::parse_study(text_, name_, {.settings = settings_}); }) {
  auto study = studies_.take();
  identity_ = study->identity();
  for (const study::Variable& v : study->variables())
    identity_ += " " + v.name + "/" + std::to_string(v.scale);
  variables_ = study->variables().size();
  studies_.give_back(std::move(study));
}

std::string StudyJob::description() const {
  cluster::Writer to;
  to.text("study").text(name_).text(text_).integer(std::int64_t(settings_.size()));
  for (const auto& [key, value] : settings_) to.text(key).text(value);
  return to.bytes();
}

std::unique_ptr<cluster::Job> study_job_of(const std::string& description) {
  cluster::Reader read(description);
  if (read.text() != "study") throw Error("a worker of the command line computes studies, and this is none");
  const std::string name = read.text();
  std::string text = read.text();
  std::vector<io::Setting> settings;
  for (std::int64_t left = read.integer(); left > 0; --left) {
    std::string key = read.text();
    settings.emplace_back(std::move(key), read.text());
  }
  return std::make_unique<StudyJob>(std::move(text), name, std::move(settings));
}

cluster::Part StudyJob::part(const std::vector<double>& theta, const cluster::Block&,
                             cluster::Want want) const {
  struct Borrowed {  // also where it cannot be simulated
    costate::Pool<study::Study>& from;
    std::unique_ptr<study::Study> study = from.take();
    ~Borrowed() { from.give_back(std::move(study)); }
  } borrowed{studies_};
  cluster::Part part;
  try {
    if (theta.size() == variables_) {
      part.value = borrowed.study->value(theta);
      return part;
    }
    const std::vector<double> z(theta.begin(), theta.end() - 2);
    const auto first = std::size_t(theta[variables_]), count = std::size_t(theta[variables_ + 1]);
    const auto some = some_rows(*borrowed.study, first, count);
    const bool slopes = want == cluster::Want::gradient;
    part.sums.resize(count * (slopes ? 1 + variables_ : 1));
    some->residuals(z, part.sums.data(), slopes ? part.sums.data() + count : nullptr);
    return part;
  } catch (const OutOfRange& error) {  // where the optimiser stepped to: it steps back
    throw Error(error.message(), Error::Kind::numerics);
  }
}

}  // namespace costate::app
