// Atoms from files and to files.
//
//   in    extended XYZ: the number of atoms, a line of key=value (Lattice, Properties), a line per atom;
//         PDB: CRYST1, ATOM and HETATM of the first model
//   out   extended XYZ as text, DCD as the bytes that CHARMM, NAMD and VMD read
//
// Boxes are rectangular. A file is not trusted: sizes are bounded, and errors name the line.
// Tests: tests/md/structure_test.cpp.
#pragma once

#include <string>
#include <vector>

namespace costate::md {

struct Structure {
  std::vector<std::string> elements;  // "Ar", one per atom
  std::vector<double> x, v;           // three per atom; v is empty where the file has none
  std::vector<double> masses;         // empty: the file has none
  std::vector<double> box;            // three edges; empty: none

  std::size_t atoms() const { return elements.size(); }
};

Structure parse_xyz(const std::string& text, const std::string& name);
Structure parse_pdb(const std::string& text, const std::string& name);
// By its ending: .xyz, .extxyz, .pdb.
Structure load_structure(const std::string& path);

// The mass of an element in atomic units; throws Error for one that it does not know.
double element_mass(const std::string& element);

// One frame; frames follow each other in a file.
std::string to_xyz(const Structure& frame);
// All frames of one motion, each three numbers per atom. `box`: three edges, or three of every frame.
std::string to_dcd(const std::vector<std::vector<double>>& frames, const std::vector<double>& box, double dt);

}  // namespace costate::md
