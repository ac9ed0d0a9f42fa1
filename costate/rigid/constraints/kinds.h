// The kinds of constraints except contact, which has rows of its own (contact_rows.h): one line each.
#pragma once

#include "costate/rigid/constraints/ball_limit.h"
#include "costate/rigid/constraints/connect.h"
#include "costate/rigid/constraints/dry_friction.h"
#include "costate/rigid/constraints/path_equality.h"
#include "costate/rigid/constraints/path_limit.h"
#include "costate/rigid/constraints/weld.h"

namespace costate::rigid {

// f(kind) for the struct of a group's kind.
template <class F>
COSTATE_INLINE decltype(auto) with_kind(GroupKind kind, const F& f) {
  switch (kind) {
    case GroupKind::joint_limit:
      return f(JointLimit{});
    case GroupKind::ball_limit:
      return f(BallLimit{});
    case GroupKind::tendon_limit:
      return f(TendonLimit{});
    case GroupKind::dof_friction:
      return f(DofFriction{});
    case GroupKind::tendon_friction:
      return f(TendonFriction{});
    case GroupKind::joint_equality:
      return f(JointEquality{});
    case GroupKind::tendon_equality:
      return f(TendonEquality{});
    case GroupKind::connect:
      return f(Connect{});
    case GroupKind::weld:
      return f(Weld{});
    case GroupKind::contact:
      break;
  }
  __builtin_unreachable();
}

inline WeightSource weight_source(const Tree& tree, const ConstraintGroup& g, int row) {
  return with_kind(g.kind, [&](auto kind) { return kind.weight(tree, g, row); });
}
inline int loss_parameter(const Tree& tree, const ConstraintGroup& g) {
  return with_kind(g.kind, [&](auto kind) { return kind.loss(tree, g); });
}
inline bool holds_bodies(GroupKind kind) {
  return kind != GroupKind::contact && with_kind(kind, [](auto k) { return k.kHoldsBodies; });
}

}  // namespace costate::rigid
