// URDF, the robot description format of ROS, as a rigid::Spec.
//
// A link becomes a body, a joint the joint of its child's body: revolute and continuous are hinges, prismatic
// a slide, floating a free joint (of a child of the world), fixed none. The root link is fixed to the world;
// a root link named "world" is the world. To let a robot fly: spec.body("base").free("root").
//
//   inertial      mass, centre and inertia; a link without it has no mass, whatever its geometry
//   collision     geoms that collide;
//                 visual: geoms that do not (a mesh that cannot be read is left out, with a warning)
//   limit         lower, upper: range;  effort: limit of the actuator force;
//                 velocity: not enforced, with a warning
//   dynamics      damping, friction (dry)
//   mimic         an equality between joints: q = multiplier q_other + offset
//
// Mesh files: "package://name/path" is looked for as path beside the file and in the folders above it.
// Reference: the URDF XML specification, http://wiki.ros.org/urdf/XML. Tests: tests/io/urdf_test.cpp.
#pragma once

#include "costate/io/text/xml_document.h"
#include "costate/rigid/spec.h"

namespace costate::io {

// `root` is a <robot> element; `path` its file.
rigid::Spec read_urdf(const XmlElement& root, const std::string& path, const FileReader& files);

rigid::Spec parse_urdf(const std::string& text, const std::string& path = "robot.urdf",
                       const FileReader& files = read_model_file);

}  // namespace costate::io
