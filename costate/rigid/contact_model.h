// Which law a contact obeys. All of them share pairs, distances and frames, and have gradients with respect
// to state, geometry and parameters.
//
//   convex    MuJoCo's soft contact: part of the convex problem of the constraints (constraints.h)
//   event     rigid: bodies exchange an impulse at the moment they meet (impact.h); what comes to rest stays
//             in a convex contact
//   penalty   springs and dampers with smoothed Coulomb friction (contact_penalty.h)
//   hard      rigid: complementarity and Coulomb's cone at the level of velocities, once per step
//             (hard_contact.h)
//
// docs/contact_models.md says which one is for which question.
#pragma once

namespace costate::rigid {

enum class ContactModel { convex, event, penalty, hard };

// What each is made of, by its name in files. Whoever asks about a model asks for one of these parts.
struct ContactParts {
  ContactModel model;
  const char* name;
  bool rows = false;  // points at rest are rows of the convex problem (contact_rows.h)
  bool impacts =
      false;  // bodies exchange an impulse at the moment they meet, and steps are cut there (impact.h)
  bool springs = false;      // forces like any other (contact_penalty.h)
  bool impulses = false;     // of all points together, once a step (hard_contact.h)
  bool restitution = false;  // geoms have one
};
inline constexpr ContactParts kContactModels[] = {
    {.model = ContactModel::convex, .name = "convex", .rows = true},
    {.model = ContactModel::event, .name = "event", .rows = true, .impacts = true, .restitution = true},
    {.model = ContactModel::penalty, .name = "penalty", .springs = true},
    {.model = ContactModel::hard, .name = "hard", .impulses = true, .restitution = true},
};
constexpr const ContactParts& parts_of(ContactModel model) {
  for (const ContactParts& parts : kContactModels)
    if (parts.model == model) return parts;
  return kContactModels[0];
}

// Of `event` and `hard`. restitution is where each "geom/<name>/restitution" starts: of two geoms the larger
// one counts, as with friction.
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

// Of `hard`.
struct HardOptions {
  double recovery_speed = 0.1;  // m/s, at most, with which bodies that overlap are driven apart
  // Reverse mode sees a contact at rest as open where leaving it would lower the loss: a way out of rest,
  // where the derivative itself is zero.
  bool aware = false;
};

}  // namespace costate::rigid
