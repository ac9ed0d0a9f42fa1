// What a physics has to say about a gradient in words, besides the numbers of Diagnostics.
//
// A physics that does derives its workspace from this one. Rollout adds the texts to the report's advice: of each topic the weightiest, over all steps and
// worlds. Tests: tests/rigid/contact/penalty_test.cpp, hard_test.cpp, split_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/system/system.h"

namespace costate {

struct Finding {
  std::string topic;
  double weight = 0;
  std::string text;
  std::string label = {};  // what the gradient is then, if not exact
};

class Findings {
 public:
  // Whether a text of this weight would be the weightiest of its topic.
  bool weightier(const std::string& topic, double weight) const {
    for (const Finding& f : all_)
      if (f.topic == topic) return weight > f.weight;
    return true;
  }
  void add(const Finding& finding) {
    for (Finding& f : all_) {
      if (f.topic != finding.topic) continue;
      // Ties by the text: the order of arrival does not show.
      if (finding.weight > f.weight || (finding.weight == f.weight && finding.text < f.text)) f = finding;
      return;
    }
    all_.push_back(finding);
  }
  void clear() { all_.clear(); }
  const std::vector<Finding>& all() const { return all_; }

 private:
  std::vector<Finding> all_;
};

class WorkspaceWithFindings : public Workspace {
 public:
  Findings findings;
};

}  // namespace costate
