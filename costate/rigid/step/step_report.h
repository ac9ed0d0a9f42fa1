// What the transposes of rigid steps have noticed, for the GradientReport: residuals of adjoint solves, steps
// in which a limit, dry friction or a contact changed its zone, events that graze, contact that is too stiff
// for dt. Tests: tests/rigid/constraints/constraints_test.cpp, tests/rigid/contact/split_test.cpp,
// penalty_test.cpp, hard_test.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "costate/core/names.h"
#include "costate/core/text.h"
#include "costate/rigid/contact/contact_pairs.h"
#include "costate/rigid/contact/penalty_strain.h"
#include "costate/rigid/step/split_step.h"
#include "costate/system/diagnostics.h"

namespace costate::rigid {

struct ReportNames {
  std::vector<std::string> joints, tendons, geoms;
};

template <class S>
class StepReport {
 public:
  StepReport(const Stepper& stepper, const ReportNames& names)
      : stepper_(stepper), names_(names), zones_(stepper.constraints.rows), watch_(stepper) {}

  // Before the transposes of the steps up to `last`. Those of a rollout come from its last step to its first.
  void begin(std::int64_t last, SplitWork<S>* split) {
    const bool follows = last + 1 == lowest_;
    if (split) split->follows = follows;
    if (follows) return;
    watch_.forget();
    if (!split) return;
    split->watch.forget();
    split->sweeps.forget();
    split->errors.forget();
    split->counts.assign(split->counts.size(), {});
  }

  // After the transpose of step k; steps come from the last to the first. `split`: null if steps are never
  // cut.
  void take(std::int64_t k, const StepWork<S>& w, const SplitWork<S>* split, Diagnostics& to) {
    take_zones(k, w.c, to);
    if (split && !split->switches.empty()) {
      to.switched(k);
      find_grazing({split->slowest_event.rate, k}, to.findings);
    }
    find_stiffness(k, w, split != nullptr, to.findings);
    if (!split) watch_.see(mask_t<S>(true), stepper_.constraints, w.c, w.x.data() + stepper_.tree.nq);
    end(k, split, to.findings);
  }

  // After split_reverse, of a run that begins with step `first`.
  void take_cuts(std::int64_t first, const StepWork<S>& w, const SplitWork<S>& split, Diagnostics& to) {
    for (const std::int64_t k : split.switches) to.switched(k);
    to.solved(split.residual);
    find_grazing(split.slowest_event, to.findings);
    find_stiffness(first, w, true, to.findings);
    end(first, &split, to.findings);
  }

 private:
  void take_zones(std::int64_t k, const ConstraintData<S>& c, Diagnostics& to) {
    if (stepper_.constraints.rows == 0) return;
    bool changed = false;
    for (std::size_t row = 0; row < zones_.size(); ++row) {
      changed |= any(c.zone[row] != zones_[row]);
      zones_[row] = c.zone[row];
    }
    if (changed && zones_of_ == k + 1) to.switched(k + 1);
    zones_of_ = k;
    if (!c.in_play) return;
    for (int l = 0; l < lanes_of<S>; ++l) to.solved(std::sqrt(static_cast<double>(lane(c.residual2, l))));
  }

  // The transposes have come to step `first`. What is counted is said where a rollout begins.
  void end(std::int64_t first, const SplitWork<S>* split, Findings& to) {
    lowest_ = first;
    if (first > 0) return;
    if (split) find_counts(split->counts, to);
    if (split) find_errors(split->errors, to);
    if (split) find_sweeps(split->sweeps.watched(), to);
    const OnsetWatch<S>& watch = split ? split->watch : watch_;
    find_onsets(watch, split != nullptr, to);
    find_limits(watch, split != nullptr, to);
  }

  static void find_counts(const std::vector<CutCounts>& counts, Findings& to) {
    CutCounts most;
    for (const CutCounts& of : counts) {
      most.ties = std::max(most.ties, of.ties);
      most.exhausted = std::max(most.exhausted, of.exhausted);
      most.slow = std::max(most.slow, of.slow);
      most.leaps = std::max(most.leaps, of.leaps);
      most.coarse = std::max(most.coarse, of.coarse);
    }
    if (most.coarse > 0 && to.weightier("first order", double(most.coarse)))
      to.add(
          {"first order", double(most.coarse),
           counted(most.coarse, "step") + " of a world " +
               (most.coarse == 1 ? "has an impact" : "have impacts") +
               " between steps of first order: each impact multiplies their error, and the gradient is that "
               "of this dt, not of the physics; use integrator = RK4, or compare dt with dt/2",
           "time grid"});
    if (most.slow > 0 && to.weightier("slow impacts", double(most.slow)))
      to.add({"slow impacts", double(most.slow),
              counted(most.slow, "impact") + " of a world slower than 1 cm/s " +
                  (most.slow == 1 ? "was" : "were") +
                  " not cut: there the gradient is that of the time grid, because through every rattle of a "
                  "corner it would carry no signal; end the rollout before bodies rattle, or smooth",
              "time grid"});
    if (most.leaps > 0 && to.weightier("leaps", double(most.leaps)))
      to.add({"leaps", double(most.leaps),
              counted(most.leaps, "contact point") + " of a world " + (most.leaps == 1 ? "comes" : "come") +
                  " or " + (most.leaps == 1 ? "goes" : "go") +
                  " with another pair of faces or edges, or with another corner, not by touching: there the "
                  "gradient is "
                  "that of the "
                  "time grid; use spheres for the corners that matter, or smooth",
              "time grid"});
    if (most.ties > 0 && to.weightier("ties", double(most.ties)))
      to.add({"ties", double(most.ties),
              "contacts begin or end within rounding of each other, " + counted(most.ties, "time") +
                  " in a world: unless they always do so together, slopes to the two sides differ, and this "
                  "gradient is one of them; move the start a little, or smooth",
              "tie"});
    if (most.exhausted > 0 && to.weightier("events", double(most.exhausted)))
      to.add({"events", double(most.exhausted),
              counted(most.exhausted, "step") + " of a world had " + std::to_string(kMostEvents) +
                  " contacts that begin or end, or " + std::to_string(kMostParts) +
                  " parts: more than that are left to the time grid; take a smaller dt",
              "time grid"});
  }

  void find_errors(const PartWatch<S>& errors, Findings& to) const {
    const std::int64_t parts = errors.count();
    if (parts == 0 || !to.weightier("errors of parts", errors.worst())) return;
    to.add(
        {"errors of parts", errors.worst(),
         counted(parts, "part") + " of a world " + (parts == 1 ? "passes" : "pass") +
             " a corner of the force, with an error of the velocities of up to " + number(errors.worst(), 2) +
             " of themselves, and an impact follows, which multiplies it: the gradient is that of this dt, "
             "not of the physics; use " +
             (stepper_.adaptive ? "a smaller rtol" : "integrator = adaptive") + " or a smaller dt",
         "time grid"});
  }

  // Those of `count` for which onsets(i) is not zero, three of them by name(i).
  template <class Onsets, class Name>
  static std::string names_of(std::size_t count, const Onsets& onsets, const Name& name) {
    std::string names;
    int named = 0, others = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (onsets(i) == 0) continue;
      if (++named > 3) {
        ++others;
        continue;
      }
      names += (names.empty() ? "" : ", ") + name(i);
    }
    if (others > 0) names += " and " + counted(others, "other");
    return names;
  }

  void find_onsets(const OnsetWatch<S>& watch, bool split, Findings& to) const {
    const auto onsets = [&](std::size_t i) { return watch.onsets_of_pair(i); };
    const std::int64_t total = sum_of(watch.pairs().size(), onsets);
    if (total == 0 || !to.weightier("time grid", double(total))) return;
    const std::string names = names_of(watch.pairs().size(), onsets, [&](std::size_t i) {
      const GeomPair& geoms = stepper_.constraints.pairs[watch.pairs()[i]].geoms;
      return "\"" + names_.geoms[geoms.first] + "\" and \"" + names_.geoms[geoms.second] + "\"";
    });
    to.add(
        {"time grid", double(total),
         "contacts of geoms " + names +
             " begin at the time grid, not when they touch: the gradient through them is that of the grid; " +
             (split ? "use spheres, capsules, ellipsoids or boxes, or any shape on a plane, in place of "
                      "these, or compare dt with dt/2"
              : stepper_.tree.nu > 0
                  ? "models with actuators take whole steps unless onset = split is asked for: ask where one "
                    "throws or hits"
                  : "use onset = automatic or split"),
         "time grid"});
  }

  void find_sweeps(const std::vector<typename SweepWatch<S>::Watched>& watched, Findings& to) const {
    const auto count = [&](std::size_t i) { return watched[i].count; };
    const std::int64_t total = sum_of(watched.size(), count);
    if (total == 0 || !to.weightier("sweeps", double(total))) return;
    const std::string names = names_of(watched.size(), count, [&](std::size_t i) {
      return "\"" + names_.geoms[watched[i].flat] + "\" on \"" + names_.geoms[watched[i].round] + "\"";
    });
    to.add({"sweeps", double(total),
            "flat faces or straight sides roll on round bodies (" + names +
                "), and contact points run over them faster than dt can follow: the gradient is that of the "
                "time grid; take a smaller dt, or use spheres for the corners that matter",
            "time grid"});
  }

  void find_limits(const OnsetWatch<S>& watch, bool split, Findings& to) const {
    const auto onsets = [&](std::size_t i) { return watch.onsets_of_limit(i); };
    const std::int64_t total = sum_of(watch.limits().size(), onsets);
    if (total == 0 || !to.weightier("limits", double(total))) return;
    const std::string names = names_of(watch.limits().size(), onsets, [&](std::size_t i) {
      const ConstraintGroup& g = stepper_.constraints.groups[watch.limits()[i]];
      const bool tendon = g.kind == GroupKind::tendon_limit;
      return (tendon ? "tendon \"" + names_.tendons[g.index] : "joint \"" + names_.joints[g.index]) + "\"";
    });
    to.add({"limits", double(total),
            "limits act from the time grid on, not from where they are reached (" + names +
                "): the gradient through such an impact is that of the grid; " +
                (split                  ? "use contact = convex, or compare dt with dt/2"
                 : stepper_.tree.nu > 0 ? "ask for onset = split, or compare dt with dt/2"
                                        : "use onset = automatic or split"),
            "time grid"});
  }

  template <class Onsets>
  static std::int64_t sum_of(std::size_t count, const Onsets& onsets) {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < count; ++i) total += onsets(i);
    return total;
  }

  static void find_grazing(const SlowestEvent& event, Findings& to) {
    if (event.rate >= kGrazing) return;
    to.add(
        {"grazing", -event.rate,
         "step " + std::to_string(event.step) +
             ": bodies graze, with a gap and a rate of the gap that vanish together: there is no derivative, "
             "and large numbers here mean nothing; move the start, or smooth",
         "grazing"});
  }

  void find_stiffness(std::int64_t k, const StepWork<S>& w, bool split, Findings& to) const {
    const Constraints& cons = stepper_.constraints;
    if (stepper_.hard() && w.hard.contradicts && to.weightier("hard", -double(k))) {
      to.add({"hard", -double(k),
              "from step " + std::to_string(k) +
                  " on there are steps in which no impulses obey the laws of hard contact "
                  "(bodies overlap and cannot part): they violate them as little as they can"});
    }
    if (stepper_.hard() && w.hard.tied >= 0 && to.weightier("ties", -double(k))) {
      const GeomPair& geoms = cons.pairs[w.hard.tied].geoms;
      to.add(
          {"ties", -double(k),
           "step " + std::to_string(k) + ": contact of geoms \"" + names_.geoms[geoms.first] + "\" and \"" +
               names_.geoms[geoms.second] +
               "\" is within rounding of another mode (about to part, or to slip): slopes to the two sides "
               "differ, and this gradient is one of them; move the start a little, or smooth",
           "tie"});
    }
    if (!parts_of(cons.contact).springs || cons.pairs.empty()) return;
    const ParameterMap& map = stepper_.tree.p;
    const PenaltyStrains strains =
        penalty_strains(stepper_.tree, cons, w.p.data(), w.p[split ? map.whole_dt : map.dt], w.c);
    // The strain goes like dt^order.
    const auto add = [&](const char* topic, const PenaltyStrain& strain, double gate, int order,
                         const char* law, const char* remedy, const char* change) {
      if (strain.most <= gate || !to.weightier(topic, strain.most)) return;
      const GeomPair& geoms = cons.pairs[strain.pair].geoms;
      const double fine_dt = strain.dt / std::pow(strain.most, 1.0 / order);
      to.add({topic, strain.most,
              "contact of geoms \"" + names_.geoms[geoms.first] + "\" and \"" + names_.geoms[geoms.second] +
                  "\" is too stiff for dt = " + number(strain.dt, 3) + ": " + law + " is " +
                  number(strain.most, 3) + ", and gradients explode above " + number(gate, 3) +
                  "; take dt <= " + number(fine_dt, 3) + ", or a " + remedy + " " + number(strain.most, 3) +
                  " times as " + change});
    };
    add("penalty stiffness", strains.stiffness, kMostStiffness, 2, "stiffness dt^2 / m", "contact/stiffness",
        "small");
    add("penalty friction", strains.friction, kMostFriction, 1, "mu f dt / (m slip_speed)",
        "contact/slip_speed", "large");
  }
  const Stepper& stepper_;
  const ReportNames& names_;
  std::vector<S> zones_;  // of the rows' force laws in step zones_of_
  std::int64_t zones_of_ = -1;
  OnsetWatch<S> watch_;
  std::int64_t lowest_ = -1;  // the step that the transposes have come to
};

}  // namespace costate::rigid
