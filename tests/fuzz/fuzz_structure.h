// One input of the fuzzer: a line with the ending of a file (xyz, pdb), then content that claims to be atoms.
// Whatever it says, reading ends in atoms whose lists have the same length, which are written and read again
// as the same, or in an Error with a message.
#pragma once

#include <string>

#include "costate/core/error.h"
#include "costate/md/io/structure.h"

namespace costate::fuzz {

// Returns what happened, for tests: "read", or the first line of the message.
inline std::string fuzz_structure(const std::string& text) {
  try {
    const std::size_t cut = std::min(text.find('\n'), text.size());
    const std::string content = cut < text.size() ? text.substr(cut + 1) : std::string();
    const bool pdb = text.substr(0, cut) == "pdb";
    const md::Structure s = pdb ? md::parse_pdb(content, "fuzz.pdb") : md::parse_xyz(content, "fuzz.xyz");
    const std::size_t n = s.atoms();
    if (s.x.size() != 3 * n || (!s.v.empty() && s.v.size() != 3 * n) ||
        (!s.masses.empty() && s.masses.size() != n) || (!s.box.empty() && s.box.size() != 3))
      __builtin_trap();
    const md::Structure again = md::parse_xyz(md::to_xyz(s), "again.xyz");
    if (again.elements != s.elements || again.x != s.x || again.v != s.v || again.box != s.box)
      __builtin_trap();
    if (md::to_dcd({s.x}, s.box, 0.01).size() < 12 * n) __builtin_trap();
    return "read";
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.empty()) __builtin_trap();
    return message.substr(0, message.find('\n'));
  }
}

}  // namespace costate::fuzz
