#include "program_bytes.h"

#include <cstring>

#include "costate/core/error.h"

namespace costate::python {
namespace {

class Writer {
 public:
  template <class Number>
  void put(const Number& number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void put(const std::string& text) {
    put(text.size());
    bytes += text;
  }
  void put(const ad::Field& field) {
    put(field.name);
    put(field.size);
  }
  void put(const ad::Node& node) {
    put(node.op);
    put(node.a);
    put(node.b);
    put(node.c);
    put(node.value);
  }
  void put(const ad::DenseProduct& d) {
    put(d.weights);
    for (const int number : {d.rows, d.columns, d.offset, d.row_stride, d.column_stride}) put(number);
  }
  template <class Element>
  void put(const std::vector<Element>& list) {
    put(list.size());
    for (const Element& element : list) put(element);
  }
  std::string bytes;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  template <class Number>
  void get(Number& number) {
    std::memcpy(&number, take(sizeof(number)), sizeof(number));
  }
  void get(std::string& text) {
    std::size_t size = 0;
    get(size);
    const char* const from = take(size);
    text.assign(from, size);
  }
  void get(ad::Field& field) {
    get(field.name);
    get(field.size);
  }
  void get(ad::Node& node) {
    get(node.op);
    get(node.a);
    get(node.b);
    get(node.c);
    get(node.value);
  }
  void get(ad::DenseProduct& d) {
    get(d.weights);
    for (int* number : {&d.rows, &d.columns, &d.offset, &d.row_stride, &d.column_stride}) get(*number);
  }
  template <class Element>
  void get(std::vector<Element>& list) {
    std::size_t size = 0;
    get(size);
    if (size > bytes_.size()) cut();
    list.resize(size);
    for (Element& element : list) get(element);
  }

 private:
  [[noreturn]] static void cut() {
    throw Error("these bytes are not a recorded program of this version of costate");
  }
  const char* take(std::size_t size) {
    if (size > bytes_.size() - at_) cut();
    at_ += size;
    return bytes_.data() + at_ - size;
  }
  const std::string& bytes_;
  std::size_t at_ = 0;
};

}  // namespace

std::string to_bytes(const ad::LayeredProgram& layered) {
  Writer to;
  to.put(layered.program.input_fields());
  to.put(layered.program.output_fields());
  to.put(layered.program.outputs());
  to.put(layered.program.nodes());
  to.put(layered.products);
  return std::move(to.bytes);
}

ad::LayeredProgram program_of_bytes(const std::string& bytes) {
  Reader from(bytes);
  std::vector<ad::Field> inputs, outputs;
  std::vector<ad::Id> ids;
  std::vector<ad::Node> nodes;
  ad::LayeredProgram layered;
  from.get(inputs);
  from.get(outputs);
  from.get(ids);
  from.get(nodes);
  from.get(layered.products);
  layered.program = ad::Program(std::move(nodes), std::move(inputs), std::move(outputs), std::move(ids));
  return layered;
}

}  // namespace costate::python
