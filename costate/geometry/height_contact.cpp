#include "costate/geometry/height_contact.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "costate/geometry/convex_case.h"
#include "costate/geometry/heightfield.h"
#include "costate/geometry/lanes.h"

namespace costate::geometry {

namespace {

constexpr int kMaxCounted = 1024;

// visit(case) for every prism that the shape touches, in order.
template <class Visit>
void each_prism(const ConvexBody& field, ConvexBody& shape, double margin, const Visit& visit) {
  const HeightGrid& grid = *field.shape.heights;
  const double radius = shape.radius() + margin;
  double low[3], high[3];
  for (int k = 0; k < 3; ++k) {
    const Vec3<double> axis = field.shape.R.column(k);
    high[k] = dot(axis, shape.support(axis) - field.shape.x) + radius;
    low[k] = dot(axis, shape.support(-axis) - field.shape.x) - radius;
  }
  if (low[0] > grid.size_x || high[0] < -grid.size_x || low[1] > grid.size_y || high[1] < -grid.size_y ||
      low[2] > grid.height || high[2] < -grid.base)
    return;
  const double dx = 2 * grid.size_x / (grid.columns - 1), dy = 2 * grid.size_y / (grid.rows - 1);
  const int first_column = std::max(0, int(std::floor((low[0] + grid.size_x) / dx))),
            last_column = std::min(grid.columns - 1, int(std::ceil((high[0] + grid.size_x) / dx))),
            first_row = std::max(0, int(std::floor((low[1] + grid.size_y) / dy))),
            last_row = std::min(grid.rows - 1, int(std::ceil((high[1] + grid.size_y) / dy)));
  Vec3<double> prism[6];
  ConvexBody column_body = field;
  column_body.prism = prism;
  const auto push = [&](int row, int column) {
    for (int k : {0, 1, 3, 4}) prism[k] = prism[k + 1];
    const double x = dx * column - grid.size_x, y = dy * row - grid.size_y;
    prism[2] = {x, y, -grid.base};
    prism[5] = {x, y, grid.top(row, column)};
  };
  for (int row = first_row; row < last_row; ++row) {
    for (int k = 0; k < 6; ++k) prism[k] = Vec3<double>::zero();
    push(row + 1, first_column);
    push(row, first_column);
    for (int column = first_column + 1; column <= last_column; ++column)
      for (int half = 0; half < 2; ++half) {
        push(row + 1 - half, column);
        if (std::max({prism[3].z, prism[4].z, prism[5].z}) < low[2]) continue;
        const ConvexCase c = convex_case(column_body, shape, 1, margin);
        if (c.kind != ConvexCase::apart) visit(c);
      }
  }
}

// The distance that a contact must not exceed to have a slot.
struct Cutoff {
  double values[kMaxCounted];
  int count = 0;
  void add(double dist) {
    if (count < kMaxCounted) values[count++] = dist;
  }
  double limit() {
    if (count <= kHeightSlots) return 1e300;
    std::nth_element(values, values + kHeightSlots - 1, values + count);
    return values[kHeightSlots - 1];
  }
};

double depth_limit(ConvexBody& field, ConvexBody& shape, double margin) {
  Cutoff cutoff;
  each_prism(field, shape, margin, [&](const ConvexCase& c) {
    ContactPoint<double> found = ContactPoint<double>::none();
    touch(c, field.type, shape.type, field.shape, shape.shape, &found);
    if (found.dist <= margin) cutoff.add(found.dist);
  });
  return cutoff.limit();
}

// visit(slot, case)
template <class Visit>
void each_slot(ConvexBody& field, ConvexBody& shape, double margin, const Visit& visit) {
  const double limit = depth_limit(field, shape, margin);
  int slot = 0;
  each_prism(field, shape, margin, [&](const ConvexCase& c) {
    if (slot == kHeightSlots) return;
    ContactPoint<double> found = ContactPoint<double>::none();
    touch(c, field.type, shape.type, field.shape, shape.shape, &found);
    if (found.dist <= margin && found.dist <= limit) visit(slot++, c);
  });
}

}  // namespace

template <class S>
void height_contact(ShapeType second_type, const Shape<S>& field, const Shape<S>& shape, const S& margin,
                    ContactPoint<S>* out) {
  using T = lane_t<S>;
  in_lanes<kHeightSlots>(
      field, shape, margin, out,
      [&](const Shape<T>& one, const Shape<T>& two, double reach, ContactPoint<T>* found) {
        ConvexBody body1{ShapeType::heightfield, plain(one)}, body2{second_type, plain(two)};
        each_slot(body1, body2, reach, [&](int slot, const ConvexCase& c) {
          touch(c, ShapeType::heightfield, second_type, one, two, found + slot);
        });
      });
}

template <class S>
void height_contact_vjp(ShapeType second_type, const Shape<S>& field, const Shape<S>& shape, const S& margin,
                        const ContactPoint<S>* bar, ShapeBar<S>& field_bar, ShapeBar<S>& shape_bar) {
  using T = lane_t<S>;
  in_lanes_vjp<kHeightSlots>(
      field, shape, margin, bar, field_bar, shape_bar,
      [&](const Shape<T>& one, const Shape<T>& two, double reach, const ContactPoint<T>* b,
          ShapeBar<T>& one_bar, ShapeBar<T>& two_bar) {
        ConvexBody body1{ShapeType::heightfield, plain(one)}, body2{second_type, plain(two)};
        each_slot(body1, body2, reach, [&](int slot, const ConvexCase& c) {
          touch_vjp(c, ShapeType::heightfield, second_type, one, two, b + slot, one_bar, two_bar);
        });
      });
}

#define COSTATE_INSTANTIATE(S)                                                                           \
  template void height_contact(ShapeType, const Shape<S>&, const Shape<S>&, const S&, ContactPoint<S>*); \
  template void height_contact_vjp(ShapeType, const Shape<S>&, const Shape<S>&, const S&,                \
                                   const ContactPoint<S>*, ShapeBar<S>&, ShapeBar<S>&)
COSTATE_GEOMETRY_SCALARS(COSTATE_INSTANTIATE);

}  // namespace costate::geometry
