#include "cluster.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "any_system.h"
#include "costate/cluster/bytes.h"
#include "costate/cluster/call.h"
#include "costate/cluster/log.h"
#include "costate/cluster/shifted.h"
#include "costate/cluster/transport.h"
#include "costate/cluster/world/ranks.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using cluster::Call;
using cluster::Node;
using cluster::Part;
using Cell = std::shared_ptr<std::int64_t>;

// The number of a block's first world, where the engine reads it.
struct FirstWorld {
  Cell cell = std::make_shared<std::int64_t>(0);
};

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }
nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

std::shared_ptr<AnySystem> shifted_system(const std::shared_ptr<AnySystem>& system, const FirstWorld& first) {
  const auto make = [system, cell = first.cell]<class Real>(std::int64_t worlds) {
    return cluster::shifted<Real>(system->make<Real>(worlds), cell);
  };
  auto made = std::make_shared<AnySystem>(
      system->name(), [make](std::int64_t worlds) { return make.template operator()<double>(worlds); },
      [make](std::int64_t worlds) { return make.template operator()<float>(worlds); }, system->initial());
  made->shapes = system->shapes;
  return made;
}

std::shared_ptr<AnyLoss> shifted_loss(const std::shared_ptr<AnyLoss>& loss, const FirstWorld& first,
                                      std::int64_t worlds) {
  const auto make = [loss, cell = first.cell, worlds]<class Real>(const Signature& signature,
                                                                  const Shapes& shapes) {
    return cluster::shifted<Real>(loss->bind<Real>(signature, shapes), cell, worlds);
  };
  auto made = any_loss(loss->text, make);
  made->changes = loss->changes;
  return made;
}

nb::bytes part(double value, const ArrayLike& sums, const std::optional<GradientReport>& report,
               const std::vector<std::int64_t>& masked, std::int64_t first, std::int64_t worlds) {
  Part made{.value = value, .sums = to_vector<double>(sums, "the gradient"), .report = {}, .failure = {}};
  if (report) {
    made.report = *report;
    cluster::keep_findings(made.report);
  }
  made.report.worlds = worlds;
  made.report.masked_worlds = masked;
  for (std::int64_t& world : made.report.masked_worlds) world += first;
  return bytes_of(to_bytes(made));
}

nb::bytes failed_part(const std::string& what, const std::string& where, const std::string& advice,
                      bool numerics, std::int64_t first) {
  Part made;
  made.failure = {{what, cluster::in_the_whole_job(where, first), advice},
                  numerics ? Error::Kind::numerics : Error::Kind::input};
  return bytes_of(to_bytes(made));
}

// (value, sums, report), or an Error. A sum over worlds that are all masked is not a number.
nb::object total(const Call& call, std::int64_t point, std::int64_t worlds) {
  const Part& sum = call.total(point);
  if (sum.failure) throw Error(sum.failure->message, sum.failure->kind);
  GradientReport report = sum.report;
  report.conclude(std::numeric_limits<double>::epsilon());
  const bool none = std::int64_t(report.masked_worlds.size()) == worlds;
  const double value = none ? std::numeric_limits<double>::quiet_NaN() : sum.value;
  return nb::make_tuple(value, to_numpy(std::vector<double>(sum.sums)), report);
}

nb::dict counts(const Call& call) {
  const cluster::Counts& c = call.counts();
  nb::dict all, workers;
  all["blocks"] = c.blocks, all["resumed"] = c.resumed, all["tasks"] = c.tasks;
  all["lost"] = c.lost, all["redone"] = c.redone, all["copied"] = c.copied;
  for (const auto& [worker, did] : c.workers)
    workers[nb::int_(worker)] = nb::make_tuple(did.blocks, did.seconds);
  all["workers"] = workers;
  return all;
}

void bind_call(nb::module_& m) {
  nb::class_<Call>(m, "_ClusterCall")
      .def(
          "__init__",
          [](Call* call, std::int64_t points, std::int64_t worlds, std::int64_t block, int tries,
             double patience) {
            new (call) Call(points, {worlds, block}, {.most_tries = tries, .patience = patience});
          },
          "points"_a, "worlds"_a, "block"_a, "tries"_a, "patience"_a)
      .def("next",
           [](Call& call, int worker, int workers, double now) -> nb::object {
             const auto task = call.next(worker, workers, now);
             return task ? nb::object(nb::make_tuple(task->point, task->node.index)) : nb::none();
           })
      .def("finished",
           [](Call& call, int worker, std::int64_t point, std::int64_t block, const nb::bytes& bytes,
              double seconds) {
             return call.finished(worker, {point, {0, block}}, cluster::part_of(view(bytes)), seconds);
           })
      .def("lost", &Call::lost)
      .def("next_look", &Call::next_look)
      .def("resume",
           [](Call& call, const cluster::Log& log, const std::string& key, std::int64_t point) {
             for (auto& [node, known] : log.of(key)) call.resume({point, node}, std::move(known));
           })
      .def("total", &total)
      .def("counts", &counts)
      .def_prop_ro("complete", &Call::complete)
      .def_prop_ro("done", &Call::done)
      .def_prop_ro("blocks", &Call::blocks);
}

}  // namespace

void bind_cluster(nb::module_& m) {
  cluster::register_ranks();
  nb::class_<FirstWorld>(m, "_FirstWorld")
      .def(nb::init<>())
      .def_prop_rw(
          "value", [](const FirstWorld& f) { return *f.cell; },
          [](FirstWorld& f, std::int64_t first) { *f.cell = first; });
  m.def("_shifted_system", &shifted_system);
  m.def("_shifted_loss", &shifted_loss);
  bind_call(m);
  nb::class_<cluster::Log>(m, "_ClusterLog")
      .def(nb::init<const std::string&, const std::string&>())
      .def("append",
           [](cluster::Log& log, const std::string& key, std::int64_t block, const nb::bytes& bytes) {
             const Part known = cluster::part_of(view(bytes));
             if (!known.failure) log.append(key, {0, block}, known);
           });
  m.def("_cluster_key", [](const std::string& names, const ArrayLike& theta, bool gradient) {
    const std::string numbers = cluster::Log::key_of(to_vector<double>(theta, "theta"), gradient);
    return cluster::fingerprint(cluster::Writer().text(names).text(numbers).bytes());
  });
  m.def("_cluster_part", &part, "value"_a, "sums"_a, "report"_a.none(), "masked"_a, "first"_a, "worlds"_a);
  m.def("_cluster_failure", &failed_part);
  m.def("_fingerprint", [](const nb::bytes& bytes) { return cluster::fingerprint(view(bytes)); });
  m.def("_cluster_machine", [] {
    const cluster::Identity machine = cluster::identity_of_machine();
    return std::vector{machine.version, machine.instruction_set, machine.mathematics};
  });
  // Error that names both, where two workers are not equals: (version, instruction set, mathematics, job).
  m.def("_require_equal", [](const std::vector<std::string>& driver, const std::vector<std::string>& worker,
                             const std::string& name) {
    const auto identity = [](std::vector<std::string> of) {
      of.resize(4);  // an older worker says less
      return cluster::Identity{of[0], of[1], of[2], of[3]};
    };
    cluster::require_equal(identity(driver), identity(worker), name);
  });
}

}  // namespace costate::python
