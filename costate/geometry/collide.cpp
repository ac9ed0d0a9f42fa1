#include "costate/geometry/collide.h"

#include "costate/geometry/box_box.h"
#include "costate/geometry/capsule_box.h"
#include "costate/geometry/convex_contact.h"
#include "costate/geometry/height_contact.h"
#include "costate/geometry/plane_polyhedron.h"
#include "costate/geometry/plane_round.h"
#include "costate/geometry/round_pairs.h"
#include "costate/geometry/sphere_solid.h"

namespace costate::geometry {

namespace {

constexpr int kTypes = 8;

// Slots of first (row) and second (column): plane, heightfield, sphere, capsule, ellipsoid, cylinder, box,
// mesh.
constexpr int kSlots[kTypes][kTypes] = {
    {0, 0, 1, 2, 1, 4, 4, 4},        // plane
    {0, 0, 16, 16, 16, 16, 16, 16},  // heightfield
    {0, 0, 1, 1, 1, 1, 1, 1},        // sphere
    {0, 0, 0, 2, 1, 2, 2, 2},        // capsule
    {0, 0, 0, 0, 1, 1, 1, 1},        // ellipsoid
    {0, 0, 0, 0, 0, 4, 4, 4},        // cylinder
    {0, 0, 0, 0, 0, 0, 8, 4},        // box
    {0, 0, 0, 0, 0, 0, 0, 4},        // mesh
};

constexpr int pair_code(ShapeType first, ShapeType second) { return kTypes * int(first) + int(second); }

#define COSTATE_CASE(first, second) \
  case pair_code(first, second):    \
    return visit(first##_##second<S>, first##_##second##_vjp<S>)

// Calls visit(pair, pair_vjp) for the pair's two functions.
template <class S, class Visit>
void with_pair(ShapeType first, ShapeType second, const Visit& visit) {
  using enum ShapeType;
  switch (pair_code(first, second)) {
    COSTATE_CASE(plane, sphere);
    COSTATE_CASE(plane, capsule);
    COSTATE_CASE(plane, ellipsoid);
    COSTATE_CASE(plane, cylinder);
    COSTATE_CASE(plane, box);
    COSTATE_CASE(plane, mesh);
    COSTATE_CASE(sphere, sphere);
    COSTATE_CASE(sphere, capsule);
    COSTATE_CASE(sphere, cylinder);
    COSTATE_CASE(sphere, box);
    COSTATE_CASE(capsule, capsule);
    COSTATE_CASE(capsule, box);
    COSTATE_CASE(box, box);
    default:
      if (contact_slots(first, second) == 0) return;
      if (first == heightfield)
        return visit([=](const Shape<S>& one, const Shape<S>& two, const S& margin,
                         ContactPoint<S>* out) { height_contact(second, one, two, margin, out); },
                     [=](const Shape<S>& one, const Shape<S>& two, const S& margin,
                         const ContactPoint<S>* bar, ShapeBar<S>& one_bar, ShapeBar<S>& two_bar) {
                       height_contact_vjp(second, one, two, margin, bar, one_bar, two_bar);
                     });
      visit([=](const Shape<S>& one, const Shape<S>& two, const S& margin,
                ContactPoint<S>* out) { convex_contact(first, second, one, two, margin, out); },
            [=](const Shape<S>& one, const Shape<S>& two, const S& margin, const ContactPoint<S>* bar,
                ShapeBar<S>& one_bar, ShapeBar<S>& two_bar) {
              convex_contact_vjp(first, second, one, two, margin, bar, one_bar, two_bar);
            });
  }
}

}  // namespace

int contact_slots(ShapeType first, ShapeType second) {
  return int(first) < kTypes && int(second) < kTypes ? kSlots[int(first)][int(second)] : 0;
}

template <class S>
void collide(ShapeType first_type, ShapeType second_type, const Shape<S>& first, const Shape<S>& second,
             const S& margin, ContactPoint<S>* out) {
  with_pair<S>(first_type, second_type, [&](auto pair, auto) { pair(first, second, margin, out); });
}

template <class S>
void collide_vjp(ShapeType first_type, ShapeType second_type, const Shape<S>& first, const Shape<S>& second,
                 const S& margin, const ContactPoint<S>* bar, ShapeBar<S>& first_bar,
                 ShapeBar<S>& second_bar) {
  with_pair<S>(first_type, second_type,
               [&](auto, auto pair_vjp) { pair_vjp(first, second, margin, bar, first_bar, second_bar); });
}

#define COSTATE_INSTANTIATE(S)                                                                               \
  template void collide(ShapeType, ShapeType, const Shape<S>&, const Shape<S>&, const S&, ContactPoint<S>*); \
  template void collide_vjp(ShapeType, ShapeType, const Shape<S>&, const Shape<S>&, const S&,                \
                            const ContactPoint<S>*, ShapeBar<S>&, ShapeBar<S>&)
COSTATE_GEOMETRY_SCALARS(COSTATE_INSTANTIATE);

}  // namespace costate::geometry
