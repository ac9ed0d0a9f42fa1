// One input of the fuzzer: a line with the ending of a file (obj, ply, stl, msh), then content that claims to
// be a mesh. Whatever it says, reading ends in cells of which every one names vertices that exist, which are
// written and read again as the same, or in an Error with a message.
#pragma once

#include <string>

#include "costate/core/error.h"
#include "costate/io/text/cell_mesh.h"

namespace costate::fuzz {

// Returns what happened, for tests: "read", or the first line of the message.
inline std::string fuzz_mesh(const std::string& text) {
  try {
    const std::size_t cut = std::min(text.find('\n'), text.size());
    const std::string path = "fuzz." + text.substr(0, std::min<std::size_t>(cut, 8));
    const io::CellMesh mesh = io::parse_cells(cut < text.size() ? text.substr(cut + 1) : std::string(), path);
    for (const auto* cells : {&mesh.triangles, &mesh.tetrahedra, &mesh.quadratic_tetrahedra, &mesh.hexahedra})
      for (const int v : *cells)
        if (v < 0 || std::size_t(v) >= mesh.vertices.size()) __builtin_trap();
    io::check_cells(mesh, path);
    const io::CellMesh again = io::parse_cells(io::format_cells(mesh, "again.msh"), "again.msh");
    if (again.triangles != mesh.triangles || again.tetrahedra != mesh.tetrahedra ||
        again.vertices.size() != mesh.vertices.size())
      __builtin_trap();
    return "read";
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.empty()) __builtin_trap();
    return message.substr(0, message.find('\n'));
  }
}

}  // namespace costate::fuzz
