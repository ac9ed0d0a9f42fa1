// The section of rigid bodies: [model], [contact], [start]. With [domain] the model stands among particles,
// with [soft] soft bodies ride on it, with [flow] it swims, and these read its tables here too.
#pragma once

#include <memory>

#include "costate/io/scene/draft.h"
#include "costate/rigid/model.h"
#include "costate/rigid/rigid_system.h"

namespace costate::io {

// A model, how its contacts are simulated, and where it starts.
struct BodiesPart {
  std::string model_file = {};
  std::shared_ptr<rigid::Model> model = {};
  rigid::SystemOptions options = {};
  std::vector<double> x0 = {};             // q, v, act
  std::vector<double> rest_controls = {};  // of actuators that nothing drives
};
// What [model] and [start] say besides to another section.
struct OtherKeys {
  std::vector<std::string> model = {}, start = {};
};
// [contact] may be about something else: then the model's contacts are as its file has them.
BodiesPart read_bodies_part(const SceneFile& file, bool with_contact = true, const OtherKeys& others = {});

// What [controls] and [optimize] can name about a model whose state begins at number `q` of the physics'
// state, and its controls at number `ctrl` of a knot.
void add_bodies(const BodiesPart& part, std::size_t q, std::size_t ctrl, Draft& draft);

}  // namespace costate::io
