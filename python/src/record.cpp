// Recording of Python functions: scalars with operators, and the Program that comes of them. Arrays of these:
// python/costate/trace.py.
#include "record.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <optional>

#include "any_system.h"
#include "arrays.h"
#include "build_signature.h"
#include "costate/ad/executable.h"
#include "costate/system/program/layered_system.h"
#include "costate/system/program/program_objective.h"
#include "module.h"
#include "program_bytes.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using ad::Op;

const Traced kNothing{nullptr, ad::Var(0.0), false, true, 0};

Traced recorded(Op op, const Traced& a, const Traced& b = kNothing, const Traced& c = kNothing) {
  const auto& recording = a.recording ? a.recording : b.recording ? b.recording : c.recording;
  const bool truth = ad::is_truth(op) || (op == Op::select && b.truth && c.truth);
  const bool evaluated = a.evaluated && b.evaluated && c.evaluated;
  return {recording, ad::Var::record_op(op, a.value, b.value, c.value), truth, evaluated,
          evaluated ? ad::apply<double>(op, a.at, b.at, c.at) : 0.0};
}

class Recording {
 public:
  // Only a field of `weights` may be the matrix of a product().
  // With values, the function is recorded as it goes at these.
  std::vector<Traced> input(const std::string& name, int size, bool weights,
                            const std::vector<double>& values) {
    const ad::Id first = builder_->input_field(name, size);
    if (weights) weights_.push_back({name, first, size});
    std::vector<Traced> made = elements(first, size);
    for (std::size_t i = 0; i < values.size() && i < made.size(); ++i) {
      made[i].evaluated = true;
      made[i].at = values[i];
    }
    return made;
  }
  // W x as one operation instead of one per element, if W (row by row) is a regular part of one field of
  // weights.
  std::optional<std::vector<Traced>> product(const std::vector<Traced>& matrix, int rows,
                                             const std::vector<Traced>& vector) {
    const int columns = static_cast<int>(vector.size());
    const auto id = [&](int i, int j) {
      const Traced& e = matrix[static_cast<std::size_t>(i * columns + j)];
      return e.recording == builder_ ? e.value.id_in(*builder_) : ad::kNone;
    };
    const ad::Id first = id(0, 0);
    ad::DenseProduct product;
    product.rows = rows;
    product.columns = columns;
    product.row_stride = rows > 1 ? id(1, 0) - first : 0;
    product.column_stride = columns > 1 ? id(0, 1) - first : 0;
    const auto field = std::find_if(weights_.begin(), weights_.end(), [&](const Weights& w) {
      return first >= w.first && first < w.first + w.size;
    });
    if (field == weights_.end()) return std::nullopt;
    product.weights = field->name;
    product.offset = first - field->first;
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        const int place = product.place(i, j);
        if (place < 0 || place >= field->size || id(i, j) != field->first + place) return std::nullopt;
      }
    }
    vectors_.push_back(ids(vector));
    products_.push_back(product);
    return elements(builder_->input_field(ad::product_field(products_.size() - 1), rows), rows);
  }
  void output(const std::string& name, const std::vector<Traced>& elements) {
    builder_->output_field(name, ids(elements));
  }
  ad::LayeredProgram finish() const {
    ad::Builder whole = *builder_;
    for (std::size_t k = 0; k < products_.size(); ++k) whole.output_field(ad::vector_field(k), vectors_[k]);
    return {whole.finish(), products_};
  }

 private:
  struct Weights {
    std::string name;
    ad::Id first;
    int size;
  };

  std::vector<Traced> elements(ad::Id first, int size) const {
    std::vector<Traced> result;
    for (int i = 0; i < size; ++i) result.push_back({builder_, ad::Var(*builder_, first + i)});
    return result;
  }
  std::vector<ad::Id> ids(const std::vector<Traced>& elements) const {
    std::vector<ad::Id> result;
    for (const Traced& e : elements) {
      if (e.recording && e.recording != builder_)
        throw Error(
            "a value of another recording is returned: it must come from this function's own arguments");
      result.push_back(e.value.id_in(*builder_));
    }
    return result;
  }

  std::shared_ptr<ad::Builder> builder_ = std::make_shared<ad::Builder>();
  std::vector<Weights> weights_;
  std::vector<ad::DenseProduct> products_;
  std::vector<std::vector<ad::Id>> vectors_;  // of each product
};

bool no_truth() {
  throw Error({"whether this is true is not known yet: the function is being recorded, not run",
               {},
               "use costate.where(condition, a, b) instead of `if`, `and`, `or`, `not`, min() and max(); "
               "np.minimum and np.maximum; & | ~ between conditions"});
}
[[noreturn]] void no_plain_number() {
  throw Error({"a number with derivatives would become a plain one, and its derivatives would be lost",
               {},
               "use np.sin and the like instead of math.sin; to fill an array, start from np.zeros_like(x)"});
}
nb::int_ no_number() {
  throw Error(
      {"this value is not known yet: the function is being recorded, not run",
       {},
       "use np.sin and the like instead of math.sin; to fill an array, collect values in a list or start "
       "from np.zeros_like(x)"});
}

Array evaluate(const ad::Program& program, nb::args inputs) {
  std::vector<std::vector<double>> values;
  for (nb::handle input : inputs) values.push_back(to_vector<double>(input, "an input"));
  if (values.size() != program.input_fields().size())
    throw Error("the program has " + std::to_string(program.input_fields().size()) + " inputs, not " +
                std::to_string(values.size()));
  return to_numpy(ad::evaluate(program, std::span<const std::vector<double>>(values)));
}

std::shared_ptr<AnySystem> recorded_system(const Signature& signature, const ad::LayeredProgram& program,
                                           const std::string& method, double dt, const std::string& name,
                                           nb::handle initial, const std::map<std::string, Shape>& shapes) {
  const Scheme scheme = scheme_of(method, dt);
  auto system = std::make_shared<AnySystem>(
      name, [=](std::int64_t worlds) { return layered_system<double>(signature, program, scheme, worlds); },
      [=](std::int64_t worlds) { return layered_system<float>(signature, program, scheme, worlds); },
      initial.is_none() ? std::vector<double>{} : to_vector<double>(initial, "initial"));
  system->shapes = shapes;
  return system;
}

// A Python function that records a loss for the signature and the shapes it is given. It is called for every
// use, because it may refer to what has changed; what was made of an equal recording is used again.
std::shared_ptr<AnyLoss> recorded_loss(const nb::object& record, const std::string& when,
                                       const std::vector<std::int64_t>& steps) {
  const loss::When at = when == "each_step" ? loss::each_step()
                        : when == "steps"   ? loss::at_steps(steps)
                                            : loss::at_end();
  struct Known {
    std::string key;
    ObjectivePtr<double> in_double;
    ObjectivePtr<float> in_single;
  };
  auto made = any_loss("function", [record, at, known = std::make_shared<Known>()]<class Real>(
                                       const Signature& s, const Shapes& shapes) {
    const auto program = nb::cast<ad::Program>(record(nb::cast(s), nb::cast(shapes)));
    std::string key = to_bytes({program, {}});
    for (const Role role : {Role::state, Role::control, Role::parameter})
      for (const Field& f : s.fields(role)) key += f.name + ' ' + std::to_string(f.offset) + '\n';
    if (known->key != key) *known = {std::move(key), nullptr, nullptr};
    ObjectivePtr<Real>* objective;
    if constexpr (sizeof(Real) == 8)
      objective = &known->in_double;
    else
      objective = &known->in_single;
    if (!*objective) *objective = loss::program<Real>(s, program, at);
    return *objective;
  });
  made->changes = true;
  return made;
}

void bind_values(nb::module_& m) {
  nb::class_<Traced>(m, "Traced", "A number of a function that is being recorded.")
      .def("__init__",
           [](Traced* self, double value) {
             new (self) Traced{nullptr, ad::Var(value), false, true, value};
           })
      .def_ro("truth", &Traced::truth)
      .def_ro("evaluated", &Traced::evaluated,
              "Whether `at` is known: the function is recorded at given inputs.")
      .def_ro("at", &Traced::at)
      .def("__bool__", [](const Traced& t) { return t.evaluated ? t.at != 0 : no_truth(); })
      .def("__float__",
           [](const Traced& t) -> double {
             if (!t.evaluated) no_number();
             no_plain_number();
           })
      .def("__int__", [](const Traced& t) { return t.evaluated ? nb::int_(t.at) : no_number(); })
      .def("__repr__",
           [](const Traced& t) { return t.truth ? "<recorded condition>" : "<recorded number>"; });
  nb::implicitly_convertible<double, Traced>();

  nb::dict operations;
  for (const ad::OpInfo& info : ad::kOps) {
    const Op op = info.op;
    const nb::str name(std::string(info.name).c_str());
    if (op == Op::powi) continue;
    if (info.arity == 1)
      operations[name] = nb::cpp_function([op](const Traced& a) { return recorded(op, a); });
    if (info.arity == 2)
      operations[name] =
          nb::cpp_function([op](const Traced& a, const Traced& b) { return recorded(op, a, b); });
    if (info.arity == 3)
      operations[name] = nb::cpp_function(
          [op](const Traced& a, const Traced& b, const Traced& c) { return recorded(op, a, b, c); });
  }
  m.attr("operations") = operations;
}

}  // namespace

void bind_recording(nb::module_& m) {
  bind_values(m);
  nb::class_<Recording>(m, "Tracer", "A function on its way to become a Program.")
      .def(nb::init<>())
      .def("input", &Recording::input, "name"_a, "size"_a, "weights"_a = false,
           "values"_a = std::vector<double>{})
      .def("product", &Recording::product, "matrix"_a, "rows"_a, "vector"_a)
      .def("output", &Recording::output, "name"_a, "elements"_a)
      .def("finish", &Recording::finish);

  nb::class_<ad::LayeredProgram> layered(m, "LayeredProgram",
                                         "A Program with its large matrix products taken out.");
  copy_is_itself(layered);
  layered
      .def_prop_ro("products",
                   [](const ad::LayeredProgram& p) {
                     nb::list shapes;
                     for (const auto& d : p.products)
                       shapes.append(nb::make_tuple(d.weights, d.rows, d.columns));
                     return shapes;
                   })
      .def("expand", &ad::expand, "The plain Program.")
      .def(
          "key",
          [](const ad::LayeredProgram& p) {
            const std::string key = to_bytes(p);
            return nb::bytes(key.data(), key.size());
          },
          "Equal for equal programs.")
      .def("__getstate__",
           [](const ad::LayeredProgram& p) {
             const std::string bytes = to_bytes(p);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("__setstate__", [](ad::LayeredProgram& p, const nb::bytes& bytes) {
        new (&p) ad::LayeredProgram(program_of_bytes(std::string(bytes.c_str(), bytes.size())));
      });

  nb::class_<ad::Program> program(m, "Program", "Straight-line code recorded from a function.");
  copy_is_itself(program);
  program
      .def_prop_ro("inputs",
                   [](const ad::Program& p) {
                     nb::dict fields;
                     for (const auto& f : p.input_fields()) fields[f.name.c_str()] = f.size;
                     return fields;
                   })
      .def_prop_ro("outputs",
                   [](const ad::Program& p) {
                     nb::dict fields;
                     for (const auto& f : p.output_fields()) fields[f.name.c_str()] = f.size;
                     return fields;
                   })
      .def("__len__", [](const ad::Program& p) { return p.nodes().size(); })
      .def("__call__", &evaluate, "inputs"_a, "All outputs one after the other, (outputs,).")
      .def("cpp", &ad::emit_cpp, "name"_a, "The program as a C++ template.")
      .def("__getstate__",
           [](const ad::Program& p) {
             const std::string bytes = to_bytes({p, {}});
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("__setstate__",
           [](ad::Program& p, const nb::bytes& bytes) {
             new (&p) ad::Program(program_of_bytes(std::string(bytes.c_str(), bytes.size())).program);
           })
      .def("__repr__", [](const ad::Program& p) { return ad::to_string(p); });

  m.def("build_signature", &build_signature, "states"_a, "controls"_a.none(), "parameters"_a.none());
  m.def("recorded_system", &recorded_system, "signature"_a, "program"_a, "method"_a, "dt"_a, "name"_a,
        "initial"_a.none(), "shapes"_a = std::map<std::string, Shape>());
  m.def("recorded_loss", &recorded_loss, "record"_a, "when"_a, "steps"_a);
}

}  // namespace costate::python
