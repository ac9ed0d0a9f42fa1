// Diagnostics: what a physics notices on the way back, for the GradientReport: in numbers, and as Findings in
// words. They lie in the Workspace; Rollout puts those of all blocks together. A system around another one
// lends its own to it (LentDiagnostics).
// Tests: tests/rigid/contact/penalty_test.cpp, hard_test.cpp, split_test.cpp;
// tests/learn/closed_loop_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace costate {

struct Finding {
  std::string topic;
  double weight = 0;
  std::string text;
  std::string label = {};  // what the gradient is then, if not exact
};

// Of each topic the weightiest, over all steps and worlds.
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

struct Diagnostics {
  std::vector<std::int64_t>
      mode_switches;            // steps whose contact or branch pattern differs from the step before;
                                // each once, the last one first, as a transpose meets them
  double adjoint_residual = 0;  // largest relative residual of an adjoint solve
  Findings findings;

  void switched(std::int64_t k) {
    const auto at = std::lower_bound(mode_switches.begin(), mode_switches.end(), k, std::greater<>());
    if (at == mode_switches.end() || *at != k) mode_switches.insert(at, k);
  }
  void solved(double residual) { adjoint_residual = std::max(adjoint_residual, residual); }
  // Keeps its memory: a step that notices the same again allocates nothing.
  void clear() {
    mode_switches.clear();
    adjoint_residual = 0;
    findings.clear();
  }
};

// While it lives, what is written to `inner` goes to `outer`.
class LentDiagnostics {
 public:
  LentDiagnostics(Diagnostics& outer, Diagnostics& inner) : outer_(outer), inner_(inner) {
    std::swap(outer_, inner_);
  }
  ~LentDiagnostics() { std::swap(outer_, inner_); }
  LentDiagnostics(const LentDiagnostics&) = delete;
  LentDiagnostics& operator=(const LentDiagnostics&) = delete;

 private:
  Diagnostics &outer_, &inner_;
};

}  // namespace costate
