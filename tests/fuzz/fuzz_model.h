// One input of the fuzzer: text that claims to be a model file, MJCF or URDF, and refers to meshes and to
// other parts of itself. Whatever it says, loading ends in a compiled Model or in an Error with a message.
#pragma once

#include <string>

#include "costate/core/error.h"
#include "costate/io/model/mjcf.h"
#include "costate/io/model/urdf.h"
#include "costate/rigid/compile/compile.h"

namespace costate::fuzz {

// Returns what happened, for tests: "compiled", or the first line of the message. Text after a line "====" is
// the content of every file that the model refers to.
inline std::string fuzz_model(const std::string& text) {
  try {
    const std::size_t cut = text.find("\n====\n");
    const std::string other = cut == std::string::npos ? std::string() : text.substr(cut + 6);
    const io::FileReader files = [&](const std::string& path) {
      if (other.empty()) throw Error({"cannot read the file '" + path + "'", path, {}});
      return other;
    };
    const io::XmlElement root = io::parse_xml(text.substr(0, cut), "fuzz.xml", files);
    const rigid::Spec spec = root.name == "robot" ? io::read_urdf(root, "fuzz.xml", files)
                                                  : io::read_mjcf(root, "fuzz.xml", files);
    const rigid::Model model = rigid::compile(spec);
    if (model.bodies.size() < 1 || model.qpos0.size() != std::size_t(model.nq)) __builtin_trap();
    return "compiled";
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.empty()) __builtin_trap();
    return message.substr(0, message.find('\n'));
  }
}

}  // namespace costate::fuzz
