#include <fmt/core.h>

#include "commands.h"
#include "json.h"
#include "table.h"

namespace costate::app {

int run_info(const Arguments& arguments) {
  if (io::is_model_file(arguments.file)) return run_model_info(arguments);
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
