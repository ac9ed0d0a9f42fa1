// A rigid model among the particles: its tables, and the colliders that ride on its bodies.
#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/quat.h"
#include "costate/io/scene/sections/particles.h"
#include "costate/rigid/dynamics/parameter_map.h"

namespace costate::io {
namespace {

constexpr Color kAttachedColor = 0xb8bcc2;

std::vector<std::string> body_names(const rigid::Model& model) {
  std::vector<std::string> names;
  for (std::size_t b = 0; b < model.bodies.size(); ++b)
    names.push_back(rigid::name_of(model.bodies[b].name, b));
  return names;
}

// A geom as a collider in its body's frame. The physics' shapes stand along y, geoms along z. False: no such
// shape.
bool copy_geom(const rigid::Geom& g, int dimension, mpm::Collider& c) {
  switch (g.type) {
    case rigid::GeomType::sphere:
      c.shape = mpm::Shape::sphere(g.size[0]);
      break;
    case rigid::GeomType::box:
      c.shape = mpm::Shape::box(g.size[0], g.size[1], g.size[2]);
      break;
    case rigid::GeomType::capsule:
      c.shape = mpm::Shape::capsule(g.size[0], g.size[1]);
      break;
    case rigid::GeomType::cylinder:
      c.shape = mpm::Shape::cylinder(g.size[0], g.size[1]);
      break;
    default:
      return false;
  }
  c.position = g.pos;
  Quat<double> turn{g.quat[0], g.quat[1], g.quat[2], g.quat[3]};
  const bool along = g.type == rigid::GeomType::capsule || g.type == rigid::GeomType::cylinder;
  if (along && dimension == 2) {  // round about its axis: turned in the plane
    const Vec3<double> axis = rotate(turn, Vec3<double>{0, 0, 1});
    c.rotation = {0, 0, std::atan2(-axis.x, axis.y)};
    return true;
  }
  const double h = std::sqrt(0.5);
  if (along) turn = turn * Quat<double>{h, h, 0, 0};  // y to z
  const Vec3<double> phi = log_map(turn);
  c.rotation = {phi.x, phi.y, phi.z};
  return true;
}

}  // namespace

void ParticlesReader::read_model() {
  if (!file_.root().find("model")) {
    for (const char* name : {"contact", "start", "controls"})
      if (const TomlValue* found = file_.root().find(name))
        file_.fail(found->place, "[" + std::string(name) + "] is about a model, and there is none",
                   "add [model] with file = \"arm.xml\"");
    return;
  }
  model_ = read_bodies_part(file_);
  scene_.rigid = model_->model;
  scene_.rigid_options = model_->options;
}

// A collider that rides on a body of the model; position and rotation are in the body's frame.
void ParticlesReader::attach(const TomlValue& v, mpm::Collider c) {
  if (const TomlValue* m = v.find("motion"))
    file_.fail(m->place, "this collider moves with its body", "leave out motion, or body");
  if (const TomlValue* p = v.find("position")) c.position = vector(*p, "position");
  read_rotation(v, c.rotation);
  if (c.shape.kind == mpm::ShapeKind::plane)
    file_.fail(v.find("shape")->place, "a half space does not ride on a body", "give a box");
  add_attached(v, std::move(c));
}

// The body's own geoms: spheres, boxes, capsules and cylinders.
void ParticlesReader::attach_geoms(const TomlValue& v, const mpm::Collider& like) {
  for (const char* key : {"position", "rotation_deg", "motion"})
    if (const TomlValue* found = v.find(key))
      file_.fail(found->place, "without a shape the body's own geoms are meant, where they are",
                 std::string("leave out ") + key + ", or add a shape");
  const TomlValue& body = *v.find("body");
  const std::string& name = file_.string(body, "body");
  const std::size_t before = scene_.attached.size();
  if (scene_.rigid) {
    const rigid::Model& model = *scene_.rigid;
    const std::vector<std::string> names = body_names(model);
    for (const rigid::Geom& g : model.geoms) {
      mpm::Collider c = like;
      if (names[g.body] != name || !copy_geom(g, scene_.model.dimension, c)) continue;
      if (scene_.attached.size() > before)
        c.name += "-" + std::to_string(scene_.attached.size() - before + 1);
      add_attached(v, std::move(c));
    }
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    if (known && scene_.attached.size() == before)
      file_.fail(body.place, "body '" + name + "' has no sphere, box, capsule or cylinder",
                 "add a shape here, in the body's frame");
  }
  if (scene_.attached.size() == before) add_attached(v, like);  // says what is wrong
}

void ParticlesReader::add_attached(const TomlValue& v, mpm::Collider c) {
  const TomlValue& body = *v.find("body");
  const std::string& name = file_.string(body, "body");
  if (!scene_.rigid)
    file_.fail(body.place, "there is no model with bodies", "add [model] with file = \"arm.xml\"");
  const std::vector<std::string> names = body_names(*scene_.rigid);
  if (std::find(names.begin(), names.end(), name) == names.end())
    file_.fail(body.place, "the model has no body '" + name + "'", suggestion(name, names));
  if (const TomlValue* n = v.find("contact");
      n && (c.contact == mpm::Contact::sticky || c.contact == mpm::Contact::none))
    file_.fail(n->place, "on a body the contact is slip, separate or coulomb");
  collider_names_.push_back(c.name);
  scene_.look.attached.push_back(v.find("color") ? file_.color(*v.find("color")) : kAttachedColor);
  scene_.look.attached_opacity.push_back(opacity_of(v, c.shape));
  scene_.attached.push_back({std::move(c), name});
}

void ParticlesReader::make_mechanism() {
  if (!scene_.rigid) return;
  try {
    scene_.model.mechanism = coupled::articulated({.model = *scene_.rigid,
                                                   .shapes = scene_.attached,
                                                   .options = model_->options,
                                                   .initial_state = model_->x0});
  } catch (const Error& error) {
    file_.fail(file_.root().find("model")->place, error.message().what, error.message().advice);
  }
}

ParticlesReader::Standing ParticlesReader::standing(const TomlValue& name) const {
  const auto at = std::find(collider_names_.begin(), collider_names_.end(), file_.string(name, "inside"));
  if (at == collider_names_.end())
    file_.fail(name.place, "there is no collider '" + name.text + "'",
               suggestion(name.text, collider_names_));
  Standing r;
  for (const mpm::Collider& c : scene_.model.colliders)
    if (c.name == name.text) r = {c.shape, c.position, c.rotation};
  for (std::size_t i = 0; i < scene_.attached.size(); ++i) {
    if (scene_.attached[i].collider.name != name.text) continue;
    const coupled::ShapePose pose = coupled::shape_poses(*scene_.model.mechanism, model_->x0)[i];
    r = {scene_.attached[i].collider.shape, pose.position, pose.rotation};
  }
  if (r.shape.kind != mpm::ShapeKind::revolution)
    file_.fail(name.place, "'" + name.text + "' is not a cup: only a cup or a shell has an inside");
  // Upright, whichever way it faces.
  const Vec3<double> up =
      rotate(exp_map(Vec3<double>{r.rotation[0], r.rotation[1], r.rotation[2]}), Vec3<double>{0, 1, 0});
  if (up.y < 1 - 1e-9)
    file_.fail(name.place, "'" + name.text + "' does not stand upright at the start, and cannot be filled");
  return r;
}

}  // namespace costate::io
