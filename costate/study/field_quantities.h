// Quantities of a physics whose state is made of rows: particles, masses, cells, or the states of equations.
//
//   NAME           the rows of a group: points where they have two or three numbers
//   NAME/mean      (1/N) sum of the rows
//   NAME/3         row 3
//
// Fields of the state are groups of single numbers under their own names. What is observed is linear in the
// state: z = A x, and its transpose adds A' z_bar.
// Tests: tests/study/field_quantities_test.cpp.
#pragma once

#include <memory>

#include "costate/study/quantities.h"

namespace costate::study {

// Rows of `dimension` numbers: row i begins at offset + i * dimension of the state.
struct RowGroup {
  std::string name;
  int dimension = 1;
  std::int64_t offset = 0;
  std::vector<std::int64_t> rows = {};
  std::vector<double> volume = {};  // of each row; empty: they have none
};

class FieldQuantities final : public Quantities {
 public:
  // The first of the groups, if its rows are points, is what losses about points look at unless they say
  // otherwise.
  FieldQuantities(const Signature& system, std::vector<RowGroup> groups);

  Quantity numbers(const std::string& path, const std::string& name) override;
  Quantity points(const std::string& path) override;
  std::string all_points() const override;
  const Signature& signature() const override { return observed_->signature; }
  ObjectivePtr<float> objective(ObjectivePtr<float> of) const override;
  ObjectivePtr<double> objective(ObjectivePtr<double> of) const override;

  // One number of z: the mean of some numbers of the state.
  using Mean = std::vector<std::int64_t>;
  struct Observed {
    Signature signature;
    std::vector<Mean> means;
  };

 private:
  struct Found {
    const RowGroup* group;
    std::string part;  // "", "mean" or the number of a row
  };
  Found find(const std::string& path) const;
  std::vector<Mean> means_of(const std::string& path) const;

  std::vector<RowGroup> groups_;
  std::size_t given_;               // groups that were given; the others are the fields of the state
  std::vector<std::string> paths_;  // of the quantities found
  std::shared_ptr<Observed> observed_;
};

}  // namespace costate::study
