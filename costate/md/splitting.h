// One step of a model: the letters of its integrator's word, one after the other; its transpose: the letters
// backwards, each with the state that it found. (integrator/part.h says what a letter is.)
//
// With a barostat the box is a state: letters read the box of the moment, box_0 e^strain, and what it
// receives is handed on to both.
//
// The force is evaluated where a letter needs it and the position has moved since the last time; over a run
// of steps that begin and end with a kick it is handed on from step to step.
// Tests: tests/md/integrator_test.cpp.
#pragma once

#include "costate/core/error.h"
#include "costate/md/integrator/barostat.h"
#include "costate/md/integrator/constraint.h"
#include "costate/md/integrator/esh.h"
#include "costate/md/integrator/friction.h"
#include "costate/md/integrator/memory.h"
#include "costate/md/integrator/newton.h"
#include "costate/md/integrator/overdamped.h"
#include "costate/md/integrator/thermostat.h"
#include "costate/md/noise.h"

namespace costate::md {

// The list of letters. f(letter) with an object of the letter's type.
template <class F>
void with_letter(char name, const F& f) {
  switch (name) {
    case 'A':
      return f(Drift{});
    case 'B':
      return f(Kick{});
    case 'O':
      return f(Friction{});
    case 'N':
      return f(Thermostat{});
    case 'C':
      return f(MemoryCoupling{});
    case 'M':
      return f(MemoryDecay{});
    case 'E':
      return f(EulerMaruyama{});
    case 'G':
      return f(Descent{});
    case 'H':
      return f(Heun{});
    case 'R':
      return f(Preconditioned{});
    case 'K':
      return f(EshKick{});
    case 'P':
      return f(PistonKick{});
    case 'D':
      return f(Dilation{});
    case 'Q':
      return f(PistonFriction{});
    case kRigidDrift:
      return f(RigidDrift{});
    case kRigidProjection:
      return f(RigidProjection{});
    default:
      return;
  }
}
// The same with the three letters of most words in place: a call of the function above, with all its letters,
// costs more than one of these.
template <class F>
COSTATE_INLINE void with_short_letter(char name, const F& f) {
  if (name == 'A') return f(Drift{});
  if (name == 'B') return f(Kick{});
  if (name == 'O') return f(Friction{});
  with_letter(name, f);
}
constexpr bool moves_atoms(char name) {
  return name == 'A' || name == 'E' || name == 'G' || name == 'H' || name == 'R' || name == 'D' ||
         name == kRigidDrift;
}

// Numbers of one world (or pack of worlds) on its way through a step.
template <class S>
struct Walk {
  Walk(const Layout& layout, const Word& word)
      : state(layout.states),
        trace(word.letters.size() * layout.states),
        forces(std::size_t(word.forces) * layout.dof),
        places(forces.size()),
        normals(word.normals),
        work((layout.groups.empty() ? 3 : 5) * layout.dof),
        decay(word.letters.size()),
        kick(word.letters.size() * std::size_t(layout.dof)),
        thermal(layout.kT >= 0 ? layout.dof : 0),
        here(layout.strain >= 0 ? layout.parameters : 0),
        box(layout.strain >= 0 ? layout.dimensions : 0),
        virials(layout.strain >= 0 ? word.letters.size() : 0) {
    parts.reserve(word.letters.size());
  }
  std::vector<S> state;    // now
  std::vector<S> trace;    // before every letter
  std::vector<S> forces;   // that every letter with one found
  std::vector<S> places;   // where it was found, if that was asked for
  std::vector<S> normals;  // of the step
  std::vector<S> work;
  std::vector<Decay<S>> decay;  // of every letter O: what depends on the parameters alone
  std::vector<S> kick;          // h / m of every letter and coordinate
  std::vector<S> thermal;       // sqrt(kT / m) of every coordinate
  // With a barostat: the parameters with the box of the moment, the box itself where strain is 0, and the
  // virials that the letters P found.
  std::vector<S> here, box, virials;
  S virial = S(0);
  std::vector<Part<S>> parts;  // what every letter is given
  bool fresh = false;          // nothing has moved since the last force was found
  bool virial_fresh = false;   // nothing has moved since the last virial was found
};

template <class S>
class Splitting {
 public:
  Splitting(const Layout& layout, const Word& word) : at_(layout), word_(word) {}

  // What depends on the parameters alone: after every change of them. `forces` and `p` stay where they are.
  void prepare(const Forces<S>& forces, const S* p, Walk<S>& walk) const {
    const int n = at_.dimensions, thermal = walk.thermal.empty() ? 0 : at_.atoms;
    each_coordinate<S>(thermal, [&](int atom) {
      const S speed = costate::sqrt(p[at_.kT] / p[at_.mass + atom]);
      std::fill_n(walk.thermal.begin() + atom * n, n, speed);
    });
    if (at_.strain >= 0) {
      std::copy(p, p + at_.parameters, walk.here.begin());
      std::copy(p + at_.box, p + at_.box + at_.dimensions, walk.box.begin());
      p = walk.here.data();
    }
    walk.parts.clear();
    walk.parts.reserve(word_.letters.size());
    for (std::size_t l = 0; l < word_.letters.size(); ++l) {
      const Letter& letter = word_.letters[l];
      const S h = S(value_t<S>(letter.fraction)) * p[at_.dt];
      S* kick = walk.kick.data() + std::ptrdiff_t(l) * at_.dof;
      each_coordinate<S>(letter.name == 'B' ? at_.atoms : 0,
                         [&](int atom) { std::fill_n(kick + atom * n, n, S(h / p[at_.mass + atom])); });
      if (letter.name == 'O') walk.decay[l] = Decay<S>(p[at_.friction], h);
      walk.parts.push_back({at_, forces, p, h, walk.normals.data() + letter.first_normal,
                            found_force(letter, walk), walk.work.data(), &walk.decay[l], walk.thermal.data(),
                            kick, at_.strain >= 0 ? &walk.virials[l] : nullptr});
    }
  }

  // walk.state moves one step on; walk.forces holds what the letters found, and with `places` walk.places
  // where.
  void step(const Forces<S>& forces, const S* p, Walk<S>& walk, bool places = false) const {
    if (at_.strain >= 0) return step_in_box(forces, walk);
    for (std::size_t l = 0; l < word_.letters.size(); ++l) {
      const Letter& letter = word_.letters[l];
      find_force(letter, forces, p, walk);
      if (places && letter.force >= 0)
        each_coordinate<S>(at_.dof, [x = walk.state.data() + at_.x,
                                     to = walk.places.data() +
                                          std::ptrdiff_t(letter.force) * at_.dof](int i) { to[i] = x[i]; });
      apply(l, walk);
    }
  }

  // The step again, up to what its last letter finds: fills walk.trace. With `known` the forces that the
  // letters found lie in walk.forces already.
  void retrace(const Forces<S>& forces, const S* p, Walk<S>& walk, bool known) const {
    walk.fresh = walk.virial_fresh = false;
    p = find_box(p, walk, walk.state.data());
    for (std::size_t l = 0; l < word_.letters.size(); ++l) {
      const Letter& letter = word_.letters[l];
      std::copy(walk.state.begin(), walk.state.end(), walk.trace.begin() + std::ptrdiff_t(l) * at_.states);
      if (!known) find_force(letter, forces, p, walk);
      if (letter.name == 'P') find_virial(l, forces, p, walk);
      if (l + 1 < word_.letters.size()) apply(l, walk);
      if (moves_atoms(letter.name)) walk.virial_fresh = false;
      if (letter.name == 'D') find_box(p, walk, walk.state.data());
    }
  }

  // `numbers`: whether mass, kT, friction and dt are asked for. After retrace(): bar goes from the cotangent
  // of the state after the step to that of the state before; adds to p_bar.
  void step_vjp(Walk<S>& walk, S* bar, S* p_bar, bool numbers = true) const {
    transpose(walk, bar, p_bar, numbers, false);
  }
  // The same without numbers from walk.places alone: no retrace (Word::places_suffice).
  void step_vjp_from_places(Walk<S>& walk, S* bar, S* p_bar) const {
    transpose(walk, bar, p_bar, false, true);
  }

  // walk.state moves one step back.
  void step_back(const Forces<S>& forces, const S* p, Walk<S>& walk) const {
    for (std::size_t l = word_.letters.size(); l-- > 0;) {
      const Letter& letter = word_.letters[l];
      walk.fresh = walk.virial_fresh = false;  // the letter before this one is the one after it here
      p = find_box(p, walk, walk.state.data());
      find_force(letter, forces, p, walk);
      if (letter.name == 'P') find_virial(l, forces, p, walk);
      const Part<S>& part = walk.parts[l];
      with_letter(letter.name, [&](auto kind) {
        if constexpr (requires { decltype(kind)::template undo<S>(part, walk.state.data()); })
          decltype(kind)::template undo<S>(part, walk.state.data());
      });
    }
    walk.fresh = false;
  }

  // The parameters with the box of a state; without a barostat those that are given.
  const S* find_box(const S* p, Walk<S>& walk, const S* state) const {
    return at_.strain < 0 ? p : moved_box(walk, state);
  }

 private:
  void transpose(Walk<S>& walk, S* bar, S* p_bar, bool numbers, bool places) const {
    if (at_.strain >= 0) return transpose_in_box(walk, bar, p_bar, numbers);
    for (std::size_t l = word_.letters.size(); l-- > 0;) {
      const Letter& letter = word_.letters[l];
      Part<S>& part = walk.parts[l];
      part.p_bar = p_bar;
      part.numbers = numbers;
      part.h_bar = S(0);
      // Of a place only the positions are read, which come first among the states.
      const S* found = !places            ? walk.trace.data() + std::ptrdiff_t(l) * at_.states
                       : letter.force < 0 ? nullptr
                                          : walk.places.data() + std::ptrdiff_t(letter.force) * at_.dof;
      with_short_letter(letter.name,
                        [&](auto kind) { decltype(kind)::template apply_vjp<S>(part, found, bar); });
      p_bar[at_.dt] += S(value_t<S>(letter.fraction)) * part.h_bar;
    }
  }

  // What follows is a barostat's, and not inlined: other words would pay for it.
  [[gnu::noinline]] const S* moved_box(Walk<S>& walk, const S* state) const {
    using costate::exp;
    const S grow = exp(state[at_.strain]);
    for (int k = 0; k < at_.dimensions; ++k) {
      S& edge = walk.here[std::size_t(at_.box + k)];
      edge = walk.box[std::size_t(k)] * grow;
      if (any(edge < S(value_t<S>(at_.least_edge))))
        throw Error({"the box has become shorter than two cutoffs", "barostat",
                     "take more atoms, a lower pressure or a heavier piston"},
                    Error::Kind::numerics);
    }
    return walk.here.data();
  }
  [[gnu::noinline]] void step_in_box(const Forces<S>& forces, Walk<S>& walk) const {
    const S* p = moved_box(walk, walk.state.data());
    walk.virial_fresh &= walk.fresh;
    for (std::size_t l = 0; l < word_.letters.size(); ++l) {
      const Letter& letter = word_.letters[l];
      find_force(letter, forces, p, walk);
      if (letter.name == 'P') find_virial(l, forces, p, walk);
      apply(l, walk);
      if (moves_atoms(letter.name)) walk.virial_fresh = false;
      if (letter.name == 'D') moved_box(walk, walk.state.data());
    }
  }
  // What the box of the moment receives from one letter: box_0_bar += e^strain b, strain_bar += box.b.
  [[gnu::noinline]] void transpose_in_box(Walk<S>& walk, S* bar, S* p_bar, bool numbers) const {
    for (std::size_t l = word_.letters.size(); l-- > 0;) {
      const Letter& letter = word_.letters[l];
      Part<S>& part = walk.parts[l];
      part.p_bar = p_bar;
      part.numbers = numbers;
      part.h_bar = S(0);
      const S* found = walk.trace.data() + std::ptrdiff_t(l) * at_.states;
      moved_box(walk, found);
      std::array<S, 3> held;
      for (int k = 0; k < at_.dimensions; ++k) held[std::size_t(k)] = std::exchange(p_bar[at_.box + k], S(0));
      with_letter(letter.name, [&](auto kind) { decltype(kind)::template apply_vjp<S>(part, found, bar); });
      for (int k = 0; k < at_.dimensions; ++k) {
        const S received = p_bar[at_.box + k], edge = walk.here[std::size_t(at_.box + k)];
        bar[at_.strain] += edge * received;
        p_bar[at_.box + k] = held[std::size_t(k)] + edge / walk.box[std::size_t(k)] * received;
      }
      p_bar[at_.dt] += S(value_t<S>(letter.fraction)) * part.h_bar;
    }
  }
  [[gnu::noinline]] void find_virial(std::size_t l, const Forces<S>& forces, const S* p,
                                     Walk<S>& walk) const {
    if (!walk.virial_fresh) walk.virial = forces.virial(walk.state.data() + at_.x, p);
    walk.virial_fresh = true;
    walk.virials[l] = walk.virial;
  }

  S* found_force(const Letter& letter, Walk<S>& walk) const {
    return letter.force < 0 ? nullptr : walk.forces.data() + std::ptrdiff_t(letter.force) * at_.dof;
  }
  // The force that a letter needs: evaluated, or the one that the letter before it found where nothing has
  // moved since.
  void find_force(const Letter& letter, const Forces<S>& forces, const S* p, Walk<S>& walk) const {
    if (letter.force < 0) return;
    S* to = found_force(letter, walk);
    if (walk.fresh) {
      const int before = letter.force > 0 ? letter.force - 1 : word_.forces - 1;
      if (before != letter.force) {
        const S* from = walk.forces.data() + std::ptrdiff_t(before) * at_.dof;
        for (int i = 0; i < at_.dof; ++i) to[i] = from[i];  // std::copy would call memmove for one pack
      }
    } else {
      forces.evaluate(walk.state.data() + at_.x, p, at_.dof, to);
      walk.fresh = true;
    }
  }
  void apply(std::size_t l, Walk<S>& walk) const {
    const char name = word_.letters[l].name;
    const Part<S>& part = walk.parts[l];
    with_short_letter(name, [&](auto kind) { decltype(kind)::template apply<S>(part, walk.state.data()); });
    if (moves_atoms(name)) walk.fresh = false;
  }

  const Layout& at_;
  const Word& word_;
};

}  // namespace costate::md
