// SplitSystem: one large world, split over ranks. Each rank holds a piece of the state and talks to its
// neighbours inside a step; the ranks together compute what one System computes alone, to the last bit.
//
// A world consists of elements: particles, rows of cells. A field of the state has as many numbers for each
// element as for any other. A rank owns some elements; which ones may change from step to step. Controls and
// parameters are the same on every rank, and so are their cotangents at the end.
//
// All functions that take a Piece are called by all ranks together.
// Implementations: mpm/split_points.h, grid/split_rows.cpp. Rollouts: cluster/world/split_rollout.h.
// Tests: tests/cluster/split_test.cpp.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "costate/system/activity.h"
#include "costate/system/channel.h"
#include "costate/system/system.h"

namespace costate {

// What one rank holds of a state, or of its cotangent. Number i of field f of the element elements[s]
// is numbers[room * (widths of the fields before f) + (first + s) * width(f) + i].
template <class Real>
struct Piece {
  std::vector<std::int64_t> elements;  // their numbers in the whole world
  std::int64_t room = 0;               // elements that there is place for, of each field
  std::int64_t first = 0;              // places before the first element: its neighbours' halo
  std::vector<Real> numbers;

  // How this piece came out of the one before it, so that cotangents find their way back.
  struct Left {
    std::int32_t place;  // which the last element then took
    std::int32_t up;     // 1: to the next rank, 0: to the one before
  };
  std::vector<Left> left;              // in this order
  std::array<std::int64_t, 2> came{};  // then so many were appended: from the rank before, from the next one

  std::int64_t count() const { return std::int64_t(elements.size()); }
  // The shape of another piece, with numbers that are not initialised.
  void shape_as(const Piece& other) {
    elements = other.elements, room = other.room, first = other.first;
    left = other.left, came = other.came;
    numbers.resize(other.numbers.size());
  }
};

// How many numbers an element has of each field, and before it.
struct ElementFields {
  std::vector<std::int64_t> width, before;
  std::int64_t total = 0;

  ElementFields() = default;
  ElementFields(const Signature& signature, std::int64_t elements) {
    for (const Field& field : signature.fields(Role::state)) {
      width.push_back(field.size / elements);
      before.push_back(total);
      total += width.back();
    }
  }
  // body(numbers of field f at `place` of the piece, how many, where they are among those of the element)
  template <class Real, class Body>
  void each(Real* numbers, std::int64_t room, std::int64_t place, const Body& body) const {
    for (std::size_t f = 0; f < width.size(); ++f)
      body(numbers + room * before[f] + place * width[f], width[f], before[f]);
  }
  // To and from one element's numbers in a row.
  template <class Real>
  void read(const Piece<Real>& piece, std::int64_t place, Real* row) const {
    each(piece.numbers.data(), piece.room, place, [&](const Real* from, std::int64_t n, std::int64_t at) {
      std::memcpy(row + at, from, std::size_t(n) * sizeof(Real));
    });
  }
  template <class Real>
  void write(const Real* row, Piece<Real>& piece, std::int64_t place) const {
    each(piece.numbers.data(), piece.room, place, [&](Real* to, std::int64_t n, std::int64_t at) {
      std::memcpy(to, row + at, std::size_t(n) * sizeof(Real));
    });
  }
};

template <class Real>
class SplitSystem {
 public:
  SplitSystem(Signature signature, std::int64_t elements, Channel& channel)
      : fields(signature, elements),
        signature_(std::move(signature)),
        elements_(elements),
        channel_(channel) {}
  virtual ~SplitSystem() = default;

  const Signature& signature() const { return signature_; }  // of the whole world
  std::int64_t elements() const { return elements_; }
  Channel& channel() const { return channel_; }
  const ElementFields fields;

  // Whether an element with these numbers, field by field, belongs to this rank.
  virtual bool owns(std::int64_t element, const Real* row) const = 0;
  // The piece of these elements, which this rank owns, with their numbers row by row.
  virtual Piece<Real> piece(std::vector<std::int64_t> elements, const std::vector<Real>& rows) const = 0;

  // Steps and transposes until end() have these parameters.
  virtual void begin(const Real* p, const Activity& active) = 0;
  // The tape is for the transpose of this step; null: not wanted, or not there.
  virtual void step(const StepContext& at, const Real* u, const Piece<Real>& x, Piece<Real>& y,
                    std::vector<Real>* tape) = 0;
  // y: the piece after the step, of which only the shape is read. y_bar is used up. u_bar is added to; null:
  // not wanted. The cotangents of the parameters stay here until end().
  virtual void step_vjp(const StepContext& at, const Real* u, const Piece<Real>& x, const Piece<Real>& y,
                        const std::vector<Real>* tape, Piece<Real>& y_bar, Piece<Real>& x_bar,
                        Real* u_bar) = 0;
  // The cotangents of parameters and controls, whole on every rank. Of a rollout without transposes, both
  // null.
  virtual void end(Real* u_bar, std::int64_t knots, Real* p_bar) = 0;

 private:
  Signature signature_;
  std::int64_t elements_;
  Channel& channel_;
};

// A System that can be split.
template <class Real>
class Splittable {
 public:
  virtual ~Splittable() = default;
  // Error where this world has what cannot be split, or too few elements for the ranks.
  virtual std::unique_ptr<SplitSystem<Real>> split(Channel& channel) const = 0;
};

// Numbers as a message, and back.
template <class Real>
std::string message_of(const Real* numbers, std::int64_t count) {
  return {reinterpret_cast<const char*>(numbers), std::size_t(count) * sizeof(Real)};
}
template <class Real>
void read_message(const std::string& bytes, Real* numbers, std::int64_t count) {
  if (bytes.size() != std::size_t(count) * sizeof(Real))
    throw Error("a message of another rank has " + std::to_string(bytes.size()) + " bytes instead of " +
                std::to_string(count * std::int64_t(sizeof(Real))));
  std::memcpy(numbers, bytes.data(), bytes.size());
}

}  // namespace costate
