// load_plugin: a physics in a shared library of its own (costate/system/plugin.h).
#include <dlfcn.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <filesystem>

#include "any_system.h"
#include "costate/system/plugin.h"
#include "module.h"

namespace costate::python {
namespace {

using namespace nb::literals;

std::shared_ptr<AnySystem> load_plugin(const std::filesystem::path& path) {
  const std::string file = path.string();
  if (file.empty()) throw Error("load_plugin needs the path of a library, and it is empty");
  // Never closed: systems that were made of it may live as long as the interpreter.
  void* library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    throw Error({"this is not a library that can be loaded", file, why ? why : ""});
  }
  const auto entry_of = reinterpret_cast<PluginEntry (*)()>(dlsym(library, "costate_plugin"));
  if (!entry_of)
    throw Error({"this library has no physics", file,
                 "write COSTATE_PLUGIN(make) in it, of costate/system/plugin.h"});
  const PluginEntry entry = entry_of();
  if (!std::equal(std::begin(kPluginLayout), std::end(kPluginLayout), std::begin(entry.layout)))
    throw Error({"this library was built with another version of costate", file,
                 "build it with the headers of version " COSTATE_VERSION});
  const std::shared_ptr<Plugin> plugin(entry.make(detail::interrupt_test.load()), entry.destroy);
  if (!plugin->in_double)
    throw Error({"this library has no physics in double precision", file, "set in_double"});
  return std::make_shared<AnySystem>(
      plugin->name, [plugin](std::int64_t) { return plugin->in_double; },
      [plugin](std::int64_t) {
        if (!plugin->in_single)
          throw Error({"'" + plugin->name + "' is there in double precision only",
                       {},
                       "use dtype='float64', or set in_single in its library"});
        return plugin->in_single;
      },
      plugin->initial);
}

}  // namespace

void bind_plugins(nb::module_& m) {
  m.def(
      "load_plugin", &load_plugin, "path"_a,
      "A System from a shared library that was built with costate's C++ headers (costate/system/plugin.h).");
}

}  // namespace costate::python
