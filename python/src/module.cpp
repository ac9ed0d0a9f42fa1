// costate._core: the engine as a Python module. The package around it (python/costate) adds what is easier
// said in Python.
#include "module.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "apps/costate/commands.h"
#include "cluster.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "learning.h"
#include "without_gil.h"

namespace costate::python {
namespace {

void start(nb::module_& m) {
  m.doc() = "The compiled part of costate.";
  m.attr("__version__") = COSTATE_VERSION;
  listen_to_signals();
  nb::set_leak_warnings(false);  // compiled functions of other libraries keep systems until the process ends
  m.def(
      "set_thread_count",
      [](int threads) {
        if (threads < 0)
          throw Error({"set_thread_count(" + std::to_string(threads) + ")", {}, "0 means one per core"});
        set_thread_count(threads);
      },
      nb::arg("threads"), "Threads that the engine may use in this process; 0: one per core.");
  m.def("thread_count", &thread_count, "Threads that the engine uses.");
  m.def(
      "command_line",
      [](std::vector<std::string> arguments) {
        std::vector<char*> argv;
        for (std::string& argument : arguments) argv.push_back(argument.data());
        argv.push_back(nullptr);
        return app::run(static_cast<int>(arguments.size()), argv.data());
      },
      nb::arg("arguments"),
      "Runs the command-line tool with these arguments, the first of which is its own name. Returns the exit "
      "code.");
  m.def(
      "simd_bytes", [] { return COSTATE_EXPECT_SIMD_BYTES; },
      "Width of the registers that this module was built for: 32 (AVX2) or 64 (AVX-512).");
}

}  // namespace
}  // namespace costate::python

NB_MODULE(_core, m) {
  using namespace costate::python;
  start(m);
  bind_errors(m);
  bind_signature(m);
  bind_reports(m);
  bind_losses(m);
  bind_systems(m);
  bind_rollout(m);
  bind_models(m);
  bind_plugins(m);
  bind_continua(m);
  bind_molecules(m);
  bind_fluid(m);
  bind_soft(m);
  bind_recording(m);
  bind_ode(m);
  bind_optimisers(m);
  bind_recordings(m);
  bind_studies(m);
  bind_cluster(m);
  bind_control(m);
  bind_learning(m);
  bind_estimation(m);
#ifdef COSTATE_XLA
  bind_jax(m);
#endif
}
