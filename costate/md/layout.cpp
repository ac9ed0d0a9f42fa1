#include "costate/md/layout.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/md/potential/term.h"

namespace costate::md {

std::string integrator_word(const std::string& name) {
  static const std::vector<std::pair<std::string, std::string>> kNames = {
      {"verlet", "BAB"},      {"leapfrog", "ABA"},
      {"langevin", "BAOAB"},  {"nose_hoover", "NBABN"},
      {"overdamped", "E"},    {"descent", "G"},
      {"heun", "H"},          {"generalized_langevin", "BACMCAB"},
      {"esh", "KAK"},         {"barostat", "PBADOQDABP"},
      {"preconditioned", "R"}};
  for (const auto& [known, word] : kNames)
    if (known == name) return word;
  if (!name.empty() && name.find_first_not_of("ABONCMEGHRKPDQ") == std::string::npos) return name;
  std::vector<std::string> names;
  for (const auto& [known, word] : kNames) names.push_back(known);
  throw Error(
      {"'" + name + "' is not an integrator", "md::Model",
       meant(name, names) + ". Or spell one with the letters A, B, O, N, C, M, E, G, H, R, K, P, D, Q."});
}

Word spell(const std::string& letters, const Layout& layout) {
  Word word;
  for (const char name : letters) {
    const auto times = std::count(letters.begin(), letters.end(), name);
    Letter letter{name, 1.0 / double(times), word.normals, -1};
    if (name == 'O' || name == 'E' || name == 'H' || name == 'R') word.normals += layout.dof;
    if (name == 'M') word.normals += layout.dof * layout.modes;
    if (name == 'Q') word.normals += 1;
    const bool overdamped = name == 'E' || name == 'G' || name == 'H' || name == 'R';
    if (name == 'B' || name == 'K' || overdamped) letter.force = word.forces++;
    word.invertible &= !overdamped && name != 'K';  // K: on unit directions alone
    word.conserves &= name == 'A' || name == 'B' || name == 'P' || name == 'D';
    word.places_suffice &= name == 'A' || name == 'B' || name == 'O';
    if (!layout.groups.empty() && name == 'A') letter.name = kRigidDrift;
    word.letters.push_back(letter);
    if (!layout.groups.empty() && (name == 'A' || name == 'B' || name == 'O'))
      word.letters.push_back({kRigidProjection, letter.fraction, word.normals, -1});
  }
  if (!layout.groups.empty())
    word.invertible = word.conserves = word.places_suffice = false;  // only of states that keep the bonds
  return word;
}

}  // namespace costate::md
