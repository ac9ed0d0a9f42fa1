// Draft: a study while its file is being read. A section fills in its physics; the tables that all physics
// share do the rest.
#pragma once

#include <limits>

#include "costate/io/scene/scene_file.h"
#include "costate/study/equations.h"
#include "costate/study/rollout_study.h"

namespace costate::io {

// Numbers that [optimize] can name together: "parameters.gravity" is three of them.
struct VariableGroup {
  std::string name;  // with its table: "start.position.hinge", "controls.push", "jug.angle"
  study::Variable::Where where = study::Variable::Where::state;
  std::size_t first = 0, count = 1;
  std::size_t path = 0;     // which, of points of a path
  bool indexed = false;     // "name[0]" even of one
  std::string suffix = {};  // behind the index: ".x"
  double unit = 1;          // of what is written in the file: degrees
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
};

// A control that [controls] can drive.
struct Drivable {
  std::string name;
  std::size_t control = 0;  // in one knot
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
};

// A kind of loss that one physics alone has; it looks at the state itself.
struct OwnLoss {
  std::string kind;
  std::vector<std::string> keys;  // besides those that every loss has
  std::function<study::AnyObjective(const SceneFile&, const TomlValue&, double weight)> read;
};

struct Draft {
  study::Setup setup;
  std::vector<OwnLoss> losses = {};
  std::vector<VariableGroup>
      groups;  // that only the section knows; parameters, controls and motions are added
  std::vector<Drivable> drivable;
  int dimension = 3;    // of vectors in the file
  double width = 0.01;  // over which regions are softened unless a loss says otherwise
  std::size_t up = 1;   // axis along which heights are measured
  // Of a physics that iterates: the same with a tolerance that differences do not see. Empty: it does not.
  std::function<void(study::Setup&)> tighten = {};
};

}  // namespace costate::io
