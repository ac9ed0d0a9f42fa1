#include "costate/cuda/program_source.h"

#include <vector>

namespace costate::cuda {

extern const char* const kLaneThreadText;  // lane_thread.h, by the build

namespace {

// What lane_thread.h takes from core/ and system/.
constexpr const char* kPrelude = R"(
#define COSTATE_COMPILED_AT_RUN_TIME
#define COSTATE_HD __host__ __device__
#define COSTATE_INLINE __forceinline__
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
namespace std {
using int64_t = long;
using uint64_t = unsigned long;
}
namespace costate {
struct StepContext {
  std::int64_t k, world;
  std::uint64_t seed;
};
template <class S, int N>
struct Vec {
  S e[N > 0 ? N : 1];
  COSTATE_HD COSTATE_INLINE S& operator[](int i) { return e[i]; }
  COSTATE_HD COSTATE_INLINE const S& operator[](int i) const { return e[i]; }
  static COSTATE_HD COSTATE_INLINE Vec zero() {
    Vec r;
    for (int i = 0; i < N; ++i) r.e[i] = S(0);
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Vec operator+(const Vec& a, const Vec& b) {
    Vec r;
    for (int i = 0; i < N; ++i) r.e[i] = a.e[i] + b.e[i];
    return r;
  }
};
template <class S, int N>
COSTATE_HD COSTATE_INLINE Vec<S, N> load_vec(const S* from, long stride) {
  Vec<S, N> r;
  for (int i = 0; i < N; ++i) r.e[i] = from[i * stride];
  return r;
}
template <class S, int N>
COSTATE_HD COSTATE_INLINE void store_vec(S* to, long stride, const Vec<S, N>& a) {
  for (int i = 0; i < N; ++i) to[i * stride] = a.e[i];
}
}  // namespace costate
)";

constexpr const char* kEntryPoints = R"(
using namespace costate::cuda;
#define COSTATE_ENTRY extern "C" __global__ void __launch_bounds__(128)
#define COSTATE_WORLD                                                    \
  const std::int64_t world = std::int64_t(blockIdx.x) * 128 + threadIdx.x; \
  if (world >= run.worlds) return;
COSTATE_ENTRY advance(DeviceRun<Real> run, const Real* from, Real* to, char* diverged) {
  COSTATE_WORLD
  advance_world<ProgramKernel>(run, world, from, to, diverged);
}
COSTATE_ENTRY record(DeviceRun<Real> run, const Real* from, Real* to, DeviceTape<Real> tape, char* diverged) {
  COSTATE_WORLD
  record_world<ProgramKernel>(run, world, from, to, tape, diverged);
}
COSTATE_ENTRY reverse(DeviceRun<Real> run, DeviceTape<Real> tape, DeviceCotangents<Real> bar) {
  COSTATE_WORLD
  reverse_world<ProgramKernel, ~0ul>(run, world, tape, bar);
}
)";

// The prelude of emit_cpp includes a header that NVRTC does not have and does not need.
std::string emitted(const ad::Program& program, const char* name) {
  std::string text = ad::emit_cpp(program, name);
  for (const std::string line : {"#pragma once\n", "#include <cmath>\n"})
    if (const std::size_t at = text.find(line); at != std::string::npos) text.erase(at, line.size());
  return text;
}

// "p.e + 3, p.e + 4": where the parameter fields lie.
std::string pointers(const std::vector<Field>& fields, const std::string& base) {
  std::string text;
  for (const Field& f : fields) text += ", " + base + ".e + " + std::to_string(f.offset);
  return text;
}

// A step that is not worth writing out several times: the compiler's time would grow with it.
bool is_long(const ad::Program& bound) {
  constexpr std::size_t kManyNodes = 300;
  return bound.nodes().size() > kManyNodes;
}

}  // namespace

int program_segment(std::int64_t states, const ad::Program& bound) {
  return is_long(bound) || states > 8 ? 1 : states > 4 ? 2 : 4;
}

ad::DerivativeOptions wanted_cotangents(const Signature& signature, const ad::Program& bound,
                                        const Activity& activity) {
  ad::DerivativeOptions wanted{.active = {"x"}};
  const bool controls = signature.controls() > 0;
  if (controls) wanted.active.emplace_back("u");
  const std::size_t first = controls ? 2 : 1;  // of the parameters among the inputs
  for (std::size_t f = 0; f < activity.parameters.size(); ++f)
    if (activity.parameters[f]) wanted.active.push_back(bound.input_fields()[first + f].name);
  return wanted;
}

std::string program_source(const Signature& signature, const ad::Program& bound, const Activity& activity,
                           bool double_precision) {
  const auto& fields = signature.fields(Role::parameter);
  const bool controls = signature.controls() > 0;
  std::vector<Field> active;
  for (std::size_t f = 0; f < fields.size(); ++f)
    if (activity.parameters[f]) active.push_back(fields[f]);
  const std::string inputs = std::string("x.e") + (controls ? ", u.e" : "") + pointers(fields, "p") + ", &k";
  const auto number = [](std::int64_t n) { return std::to_string(n); };

  std::string text = is_long(bound) ? "#define COSTATE_LONG_STEP\n" : "\n";
  text += kPrelude;
  text += kLaneThreadText;
  text += double_precision ? "using Real = double;\n" : "using Real = float;\n";
  text += emitted(bound, "program_step") +
          emitted(ad::vjp(bound, wanted_cotangents(signature, bound, activity)), "program_vjp");
  text += "struct ProgramKernel {\n  static constexpr int states = " + number(signature.states()) +
          ", controls = " + number(signature.controls()) +
          ", parameters = " + number(signature.parameters()) +
          ", segment = " + number(program_segment(signature.states(), bound)) + ";\n";
  text +=
      "  template <class S> using X = costate::Vec<S, states>;\n"
      "  template <class S> using U = costate::Vec<S, controls>;\n"
      "  template <class S> using P = costate::Vec<S, parameters>;\n"
      "  template <class S>\n"
      "  static COSTATE_HD COSTATE_INLINE X<S> step(const costate::StepContext& at, const X<S>& x, const "
      "U<S>& u, "
      "const P<S>& p) {\n    const S k = S(at.k);\n    X<S> y;\n    program_step<S>(" +
      inputs + ", y.e);\n    return y;\n  }\n";
  text +=
      "  template <class S>\n"
      "  static COSTATE_HD COSTATE_INLINE X<S> step_vjp(const costate::StepContext& at, const X<S>& x, const "
      "U<S>& "
      "u, const P<S>& p, const X<S>& y_bar, U<S>& u_sum, P<S>& p_sum) {\n"
      "    const S k = S(at.k);\n    X<S> x_bar;\n    U<S> u_bar;\n    P<S> p_bar;\n    program_vjp<S>(" +
      inputs + ", y_bar.e, x_bar.e" + (controls ? ", u_bar.e" : "") + pointers(active, "p_bar") + ");\n";
  if (controls) text += "    for (int i = 0; i < controls; ++i) u_sum.e[i] += u_bar.e[i];\n";
  for (const Field& f : active)
    text += "    for (int i = " + number(f.offset) + "; i < " + number(f.offset + f.size) +
            "; ++i) p_sum.e[i] += p_bar.e[i];\n";
  text += "    return x_bar;\n  }\n};\n";
  return text + kEntryPoints;
}

}  // namespace costate::cuda
