// Which law a contact obeys. All of them share pairs, distances and frames, and have gradients with respect to state, geometry and parameters.
//
//   convex    MuJoCo's soft contact: part of the convex problem of the constraints (constraints.h)
//   event     rigid: bodies exchange an impulse at the moment they meet (impact.h); what comes to rest stays in a convex contact
//   penalty   springs and dampers with smoothed Coulomb friction (contact_penalty.h)
//
// docs/contact_models.md says which one is for which question.
#pragma once

namespace costate::rigid {

enum class ContactModel { convex, event, penalty };

// Of `event`. restitution is where each "geom/<name>/restitution" starts: of two geoms the larger one counts, as with friction.
struct ImpactOptions {
  double restitution = 0;    // of the normal velocity
  double rest_speed = 0.05;  // m/s; what would rebound more slowly stays in contact
};

// Of `penalty`: where "contact/stiffness", "contact/damping" and "contact/slip_speed" start.
struct PenaltyOptions {
  double stiffness = 1e4;    // N/m
  double damping = 0;        // s/m: the factor 1 + damping * (speed of approach) of the force
  double slip_speed = 1e-3;  // m/s, at which friction has 0.7 of its full force
};

}  // namespace costate::rigid
