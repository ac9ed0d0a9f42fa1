// Quantities of a physics whose state is made of rows: particles, masses, cells, or the states of equations.
//
//   NAME           the rows of a group: points where they have two or three numbers
//   NAME/mean      (1/N) sum of the rows
//   NAME/3         row 3
//
// Fields of the state are groups of single numbers under their own names. What is observed of rows is linear
// in the state: z = A x, and its transpose adds A' z_bar. A physics may name numbers that are not, such as a
// temperature: each is an objective with the weight 1, z_j = q_j(x, p), and hands on z_bar_j dq_j/d(x, p).
// Tests: tests/study/field_quantities_test.cpp.
#pragma once

#include <memory>

#include "costate/study/losses/term.h"
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

// A number of one state that is not a mean of rows, under its name.
struct MeasuredNumber {
  std::string name;
  AnyObjective value;  // asked without steps; may throw Error: what it needs
};

class FieldQuantities final : public Quantities {
 public:
  // The first of the groups, if its rows are points, is what losses about points look at unless they say
  // otherwise.
  FieldQuantities(const Signature& system, std::vector<RowGroup> groups,
                  std::vector<MeasuredNumber> measured = {});

  Quantity numbers(const std::string& path, const std::string& name) override;
  Quantity points(const std::string& path) override;
  std::string all_points() const override;
  const Signature& signature() const override { return observed_->signature; }
  ObjectivePtr<float> objective(ObjectivePtr<float> of) const override;
  ObjectivePtr<double> objective(ObjectivePtr<double> of) const override;

  // One number of z: the mean of some numbers of the state; empty where it is measured.
  using Mean = std::vector<std::int64_t>;
  struct Observed {
    Signature signature;
    std::vector<Mean> means;
    std::vector<std::pair<std::size_t, AnyObjective>> measured;  // and which number of z it is
    std::int64_t states = 0, parameters = 0;                     // of the physics
  };

 private:
  struct Found {
    const RowGroup* group;
    std::string part;  // "", "mean" or the number of a row
  };
  Found find(const std::string& path) const;
  std::vector<Mean> means_of(const std::string& path) const;
  const MeasuredNumber* measured(const std::string& path) const;  // null: there is none

  std::vector<RowGroup> groups_;
  std::vector<MeasuredNumber> measured_;
  std::size_t given_;               // groups that were given; the others are the fields of the state
  std::vector<std::string> paths_;  // of the quantities found
  std::shared_ptr<Observed> observed_;
};

}  // namespace costate::study
