#include <fmt/core.h>

#include "commands.h"
#include "costate/core/error.h"
#include "costate/system/devices.h"
#include "json.h"
#include "table.h"
#include "train.h"

namespace costate::app {

namespace {

std::string gigabytes(std::int64_t bytes) { return fmt::format("{:.1f} GB", double(bytes) * 1e-9); }

int list_devices(bool json) {
  if (json) {
    Json all = Json::array();
    for (const DeviceInfo& d : devices())
      all.push_back({{"device", d.device},
                     {"description", d.description},
                     {"memory_bytes", d.memory_bytes},
                     {"free_bytes", d.free_bytes}});
    print({{"devices", all}});
    return 0;
  }
  Table table({"device", "what it is", "memory", "free"});
  for (const DeviceInfo& d : devices()) {
    const bool known = d.memory_bytes > 0;
    table.row({d.device, d.description, known ? gigabytes(d.memory_bytes) : "",
               known ? gigabytes(d.free_bytes) : ""});
  }
  fmt::print("{}", table.text());
  return 0;
}

}  // namespace

int run_info(const Arguments& arguments) {
  if (arguments.devices) return list_devices(arguments.json);
  if (arguments.file.empty())
    throw Error({"there is no file", "info", "name one: costate info FILE, or list devices: --devices"});
  if (io::is_model_file(arguments.file)) return run_model_info(arguments);
  if (is_task_file(arguments.file)) return run_task_info(arguments);
  const auto study = open_study(arguments);
  if (arguments.json) {
    Json facts = Json::array();
    for (const auto& [what, value] : study->facts()) facts.push_back({what, value});
    print({{"file", study->file}, {"title", study->title}, {"facts", facts}});
    return 0;
  }
  fmt::print("{}\n\n", study->title.empty() ? study->file : study->title);
  Table table;
  for (const auto& [what, value] : study->facts()) table.row({what, value});
  fmt::print("{}", table.text());
  return 0;
}

}  // namespace costate::app
