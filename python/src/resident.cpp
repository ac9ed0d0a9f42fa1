// Rollout._simulate_there, Rollout._pull_back_there and GpuArray: what costate/gpu.py, costate.torch and
// costate.jax are made of where arrays stay on a GPU.
#include "resident.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "costate/cuda/device_backend.h"
#include "costate/system/devices.h"
#include "module.h"
#include "typed_rollout.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using Pointer = std::pair<std::uintptr_t, bool>;

// Numbers in a GPU's memory, which other libraries read where they lie: by __cuda_array_interface__ or
// DLPack.
struct GpuArray {
  using View = nb::ndarray<nb::c_contig, nb::device::cuda>;

  explicit GpuArray(View other)
      : device("cuda:" + std::to_string(other.device_id())), view(std::move(other)) {
    single = view.dtype() == nb::dtype<float>();
    if (!single && view.dtype() != nb::dtype<double>())
      throw Error("rollouts have numbers of type float32 or float64");
    for (std::size_t i = 0; i < view.ndim(); ++i) shape.push_back(view.shape(i));
  }
  GpuArray(const std::string& on, Shape s, bool in_single)
      : device(on), shape(std::move(s)), single(in_single) {
    const auto backend = backend_of<float>(on);
    const auto* const found = dynamic_cast<const cuda::DeviceBackend<float>*>(backend.get());
    if (found == nullptr) throw Error({"device = \"" + on + "\" is not a GPU", {}, "use \"cuda:0\""});
    owner = found->device();
    device = owner->name();  // of "cuda:0+host", too
    owner->enter();
    memory = std::make_unique<cuda::DeviceArray<char>>(*owner);
    memory->reserve(std::max<std::int64_t>(1, std::int64_t(product(shape)) * (single ? 4 : 8)));
  }
  std::uintptr_t address() const {
    return reinterpret_cast<std::uintptr_t>(memory ? static_cast<const void*>(memory->data()) : view.data());
  }
  int index() const { return std::stoi(device.substr(device.find(':') + 1)); }

  std::string device;
  Shape shape;
  bool single = false;
  std::shared_ptr<const cuda::Device> owner;
  std::unique_ptr<cuda::DeviceArray<char>> memory;  // its own, or none:
  View view;                                        // of another library
};

nb::dict interface_of(const GpuArray& a) {
  nb::list shape;
  for (const std::size_t n : a.shape) shape.append(n);
  nb::dict d;
  d["shape"] = nb::tuple(shape);
  d["typestr"] = a.single ? "<f4" : "<f8";
  d["data"] = nb::make_tuple(a.address(), false);
  d["strides"] = nb::none();
  d["version"] = 3;
  d["stream"] = 1;  // written in the order of the default stream
  return d;
}

nb::object dlpack_of(nb::handle self, const nb::kwargs&) {
  const auto& a = nb::cast<const GpuArray&>(self);
  void* const data = reinterpret_cast<void*>(a.address());
  const auto as = [&]<class Real>(Real) {
    return nb::cast(nb::ndarray<nb::array_api, Real>(data, a.shape.size(), a.shape.data(), self, nullptr,
                                                     nb::dtype<Real>(), nb::device::cuda::value, a.index()));
  };
  return (a.single ? as(0.0f) : as(0.0)).attr("__dlpack__")();
}

ResidentCall call_of(const PyRollout& r, std::int64_t worlds, const Pointer& x0, const Pointer& u,
                     const std::map<std::string, Pointer>& p, std::uintptr_t stream) {
  ResidentCall call{worlds, {x0.first, x0.second}, {u.first, u.second}, {}, stream};
  for (const auto& [name, at] : p) call.parameters[r.system->parameter(name)] = {at.first, at.second};
  return call;
}

}  // namespace

void bind_resident(nb::module_& m, nb::class_<PyRollout>& rollout) {
  nb::class_<GpuArray>(
      m, "GpuArray",
      "Numbers in the memory of a GPU. torch.as_tensor, cupy.asarray and whatever else reads "
      "__cuda_array_interface__ or DLPack "
      "shares them without a copy.")
      .def(
          "__init__",
          [](GpuArray* self, const std::string& device, const std::vector<std::size_t>& shape,
             const std::string& dtype) { new (self) GpuArray(device, shape, dtype == "float32"); },
          "device"_a, "shape"_a, "dtype"_a = "float64", "Not initialised.")
      .def_ro("device", &GpuArray::device)
      .def_prop_ro(
          "shape", [](const GpuArray& a) { return interface_of(a)["shape"]; },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("dtype", [](const GpuArray& a) { return a.single ? "float32" : "float64"; })
      .def_prop_ro("__cuda_array_interface__", &interface_of,
                   nb::sig("def __cuda_array_interface__(self) -> dict[str, object]"))
      .def("__dlpack__", &dlpack_of, nb::sig("def __dlpack__(self, **kwargs: object) -> object"))
      .def("__dlpack_device__", [](const GpuArray& a) { return std::make_pair(2, a.index()); })
      .def("__repr__",
           [](const GpuArray& a) { return "GpuArray of shape " + text_of(a.shape) + " on " + a.device; });
  m.def(
      "gpu_view",
      [](nb::handle array) {
        GpuArray::View view;
        if (!nb::try_cast(array, view))
          throw Error({"this array is not contiguous, or not on a GPU", {}, "make a copy of it first"});
        return GpuArray(std::move(view));
      },
      "array"_a, nb::sig("def gpu_view(array: object) -> GpuArray"),
      "The same numbers as a GpuArray, from whatever has __dlpack__.");
  rollout
      .def(
          "_simulate_there",
          [](PyRollout& r, std::int64_t worlds, const Pointer& x0, const Pointer& u,
             const std::map<std::string, Pointer>& p, std::uintptr_t final_state, std::uintptr_t states,
             std::uintptr_t stream) {
            const ResidentCall call = call_of(r, worlds, x0, u, p, stream);
            without_gil([&] { r.simulate_there(call, {final_state, states}); });
          },
          "worlds"_a, "x0"_a, "u"_a, "p"_a, "final_state"_a, "states"_a, "stream"_a,
          "(address, shared) of arrays on the rollout's GPU: costate/gpu.py")
      .def(
          "_pull_back_there",
          [](PyRollout& r, std::int64_t worlds, const Pointer& x0, const Pointer& u,
             const std::map<std::string, Pointer>& p, std::uintptr_t final_bar, std::uintptr_t states_bar,
             std::uintptr_t x0_bar, std::uintptr_t u_bar, const std::map<std::string, std::uintptr_t>& p_bar,
             std::uintptr_t stream) {
            const ResidentCall call = call_of(r, worlds, x0, u, p, stream);
            ResidentBars to{x0_bar, u_bar, {}};
            for (const auto& [name, at] : p_bar) to.parameters[r.system->parameter(name)] = at;
            without_gil([&] { r.pull_back_there(call, {final_bar, states_bar}, to); });
          },
          "worlds"_a, "x0"_a, "u"_a, "p"_a, "final_state"_a, "states"_a, "x0_bar"_a, "u_bar"_a, "p_bar"_a,
          "stream"_a, "The cotangents of what _simulate_there reads, given those of what it writes.");
}

}  // namespace costate::python
