// Molecules in a recording: atoms, bonds and the box of the moment; and the same frames as a file that other
// programs read, extended XYZ or DCD (costate/md/io/structure.h), where atoms are not put back into the box.
// Tests: tests/md/scene_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/io/scene/sections/links_picture.h"

namespace costate::io {

class MoleculesPicture final : public LinksPicture {
 public:
  // Velocities follow the positions in the state, if there are any; `strain`: where a barostat's strain lies
  // in the state, or -1.
  MoleculesPicture(LinksDrawing drawing, std::vector<std::string> elements, bool velocities, int strain);
  void also_write(const std::string& ending) override;
  void begin(const study::Inputs& inputs) override;
  void frame(double t, const std::vector<double>& state) override;
  std::string written() override;

 private:
  void keep(const std::vector<double>& state, const std::vector<double>& box);

  std::vector<std::string> elements_;
  std::vector<double> box_at_rest_;
  bool velocities_;
  int strain_;
  std::string ending_, xyz_;  // the ending is that of one film
  // Of DCD: three numbers per atom, three edges per frame; times of the first two frames.
  std::vector<std::vector<double>> frames_;
  std::vector<double> boxes_, times_;
};

}  // namespace costate::io
