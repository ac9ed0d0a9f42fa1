// Points joined by links: masses and springs, atoms and bonds. Points are drawn as particles, links as
// ribbons.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "costate/study/picture.h"

namespace costate::io {

struct LinksDrawing {
  int dimensions = 2;
  int points = 0;
  std::vector<std::pair<int, int>> links = {};
  double size = 0.02;  // radius of a point
  std::optional<double> ground = {};
  std::string name = "masses";
  std::vector<double> box = {};  // edges of a periodic box, drawn; points are shown inside of it
};

// Positions are the first numbers of the state, point by point.
class LinksPicture : public study::Picture {
 public:
  explicit LinksPicture(LinksDrawing drawing) : drawing_(std::move(drawing)) {}
  void begin(const study::Inputs&) override;
  void frame(double, const std::vector<double>& state) override;
  void mark(const std::array<double, 3>&) override {}
  Recording finish() override;

 protected:
  void set_box(const std::vector<double>& edges) {  // of the frames that follow
    if (!drawing_.box.empty()) drawing_.box = edges;
  }
  LinksDrawing drawing_;

 private:
  using Place = std::array<float, 3>;
  Place place(const std::vector<double>& state, int i) const;
  void ribbon(const Place& a, const Place& b, double width, Mesh& mesh) const;
  void box_edges();

  Recording recording_;
  Mesh links_, box_;
};

}  // namespace costate::io
