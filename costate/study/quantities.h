// Quantities: the numbers of a physics that have names, so that every loss works in every physics.
//
// A loss is written on quantities; it does not know what they are quantities of. Those that are numbers of
// the state are read where they lie. Others are observed: the terms about them are objectives on a signature
// of their own, signature(), and objective() makes of such a term one of the physics' own states, with its
// gradient.
//
//   rigid bodies    site/NAME, body/NAME, geom/NAME, joint/NAME, .../velocity, ...        rigid_quantities.h
//   others          groups of rows of the state: "material/coffee", "material/coffee/mean"
//                   field_quantities.h
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costate/system/objective.h"

namespace costate::study {

// Places of points: where each coordinate of each point lies.
struct Points {
  int dimension = 3;
  std::vector<std::int64_t> elements = {};  // points x dimension
  std::vector<double> volume = {};          // of each point; empty: they have none
  std::vector<std::int64_t> rows = {};  // number of each point among those of a recording; empty: it has none

  std::size_t count() const { return elements.size() / std::size_t(dimension); }
};

struct Quantity {
  std::string field = {};  // its name in signature(), for formulas; empty: it is only points
  std::int64_t size = 0;
  bool observed = true;  // lies in signature(); otherwise in the state itself
  Points points = {};    // empty: these numbers are not coordinates
};

class Quantities {
 public:
  virtual ~Quantities() = default;

  // A few numbers, for formulas and targets; `name` is what formulas call them (empty: chosen here). Throws
  // Error for a path that does not exist, with the nearest that does.
  virtual Quantity numbers(const std::string& path, const std::string& name = {}) = 0;
  // Points, of which there may be many.
  virtual Quantity points(const std::string& path) = 0;
  // All points of the physics, where that means something; empty: a path must be given.
  virtual std::string all_points() const { return {}; }
  // The path of the velocity of a quantity.
  virtual std::string velocity_of(const std::string& path) const { return path + "/velocity"; }

  // Every quantity found so far, after the states where these are few; the controls and parameters of the
  // physics.
  virtual const Signature& signature() const = 0;
  virtual ObjectivePtr<float> objective(ObjectivePtr<float> of) const = 0;
  virtual ObjectivePtr<double> objective(ObjectivePtr<double> of) const = 0;
};

}  // namespace costate::study
