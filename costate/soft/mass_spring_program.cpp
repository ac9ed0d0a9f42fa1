#include "costate/soft/mass_spring_program.h"

#include "costate/ad/record.h"

namespace costate::ad {
// Not known while a step is recorded: what a plane does to those that touch it is always part of it.
inline bool any(const VarMask&) { return true; }
}  // namespace costate::ad

namespace costate::soft {
namespace {

template <int D>
ad::Program record(const Topology& topology, const Signature& signature) {
  ad::Recorder recorder;
  const std::vector<ad::Var> x = recorder.input("x", int(signature.states()));
  std::vector<ad::Var> u, p;
  if (signature.controls() > 0) u = recorder.input("u", int(signature.controls()));
  for (const Field& field : signature.fields(Role::parameter)) {
    const std::vector<ad::Var> values = recorder.input("p/" + field.name, int(field.size));
    p.insert(p.end(), values.begin(), values.end());
  }
  recorder.scalar("k");
  StepScratch<ad::Var, D> scratch(topology);
  std::vector<ad::Var> y(x.size());
  mass_spring_step<ad::Var, D>(topology, x.data(), u.data(), p.data(), y.data(), scratch);
  recorder.output("y", y);
  return recorder.finish();
}

}  // namespace

ad::Program record_mass_spring(const Topology& topology, const Signature& signature, int dimensions) {
  return dimensions == 2 ? record<2>(topology, signature) : record<3>(topology, signature);
}

}  // namespace costate::soft
