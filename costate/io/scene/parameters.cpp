#include <algorithm>

#include "costate/io/scene/tables.h"
#include "costate/system/ranges.h"

namespace costate::io {

// "body/pole/mass" = 0.3, or a list for a field of several numbers.
void read_parameters(const SceneFile& file, Draft& draft) {
  const TomlValue& values = file.table_or_empty("parameters");
  study::Setup& setup = draft.setup;
  std::vector<std::string> names;
  for (const Field& f : setup.signature.fields(Role::parameter)) names.push_back(f.name);
  for (std::size_t i = 0; i < values.keys.size(); ++i) {
    const std::string& name = values.keys[i];
    const Field* field = setup.signature.find_if(Role::parameter, name);
    if (!field)
      file.fail(values.key_places[i], "there is no parameter '" + name + "'", suggestion(name, names));
    if (name == "dt") file.fail(values.key_places[i], "dt is given in [run]");
    const TomlValue& v = values.items[i];
    const std::vector<double> list = file.one_or_more(v, name);
    if (std::int64_t(list.size()) != field->size && list.size() != 1)
      file.fail(v.place, "'" + name + "' is " + std::to_string(field->size) + " numbers, not " +
                             std::to_string(list.size()));
    const std::string wrong = fault<double>(*field, list);
    if (!wrong.empty()) file.fail(v.place, wrong);
    for (std::int64_t k = 0; k < field->size; ++k)
      setup.inputs.p[std::size_t(field->offset + k)] = list[list.size() == 1 ? 0 : std::size_t(k)];
    setup.parameters_given.push_back(name);
  }
}

}  // namespace costate::io
