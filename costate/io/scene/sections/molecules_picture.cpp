#include "costate/io/scene/sections/molecules_picture.h"

#include <cmath>
#include <utility>

#include "costate/core/error.h"
#include "costate/md/io/structure.h"

namespace costate::io {

MoleculesPicture::MoleculesPicture(LinksDrawing drawing, std::vector<std::string> elements, bool velocities,
                                   int strain)
    : LinksPicture(std::move(drawing)),
      elements_(std::move(elements)),
      box_at_rest_(drawing_.box),
      velocities_(velocities),
      strain_(strain) {}

void MoleculesPicture::also_write(const std::string& ending) {
  if (ending != ".xyz" && ending != ".extxyz" && ending != ".dcd")
    throw Error({"a trajectory has no format '" + ending + "'", "", "use .xyz, .extxyz or .dcd"});
  ending_ = ending;
}

void MoleculesPicture::begin(const study::Inputs& inputs) {
  LinksPicture::begin(inputs);
  xyz_.clear(), frames_.clear(), boxes_.clear(), times_.clear();
}

void MoleculesPicture::frame(double t, const std::vector<double>& state) {
  std::vector<double> box = box_at_rest_;
  if (strain_ >= 0)
    for (double& edge : box) edge *= std::exp(state[std::size_t(strain_)]);
  set_box(box);
  LinksPicture::frame(t, state);
  if (ending_.empty()) return;
  if (times_.size() < 2) times_.push_back(t);
  keep(state, box.size() == 3 ? box : std::vector<double>{});
}

// In three dimensions, whatever the model has.
void MoleculesPicture::keep(const std::vector<double>& state, const std::vector<double>& box) {
  const auto n = std::size_t(drawing_.dimensions), atoms = elements_.size();
  const auto in_space = [&](std::size_t offset) {
    std::vector<double> all(3 * atoms, 0.0);
    for (std::size_t i = 0; i < atoms * n; ++i) all[i / n * 3 + i % n] = state[offset + i];
    return all;
  };
  if (ending_ == ".dcd") {
    frames_.push_back(in_space(0));
    boxes_.insert(boxes_.end(), box.begin(), box.end());
  } else {
    md::Structure s{.elements = elements_, .x = in_space(0), .v = {}, .masses = {}, .box = box};
    if (velocities_) s.v = in_space(atoms * n);
    xyz_ += md::to_xyz(s);
  }
}

std::string MoleculesPicture::written() {
  const std::string ending = std::exchange(ending_, {});
  if (ending != ".dcd") return std::move(xyz_);
  return md::to_dcd(frames_, boxes_, times_.size() == 2 ? times_[1] - times_[0] : 1);
}

}  // namespace costate::io
