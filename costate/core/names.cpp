#include "costate/core/names.h"

#include <algorithm>
#include <numeric>

namespace costate {
namespace {

constexpr std::size_t kLongest = 64;  // a longer name is compared by its beginning

// Levenshtein distance, one row at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongest);
  b = b.substr(0, kLongest);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

std::string small(std::string_view text) {
  std::string letters(text.substr(0, kLongest));
  for (char& c : letters) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  return letters;
}

// A letter in the other case is nearer than any other letter: Q means q, not e.
std::size_t twice_distance(std::string_view a, std::string_view b) {
  return distance(a, b) + distance(small(a), small(b));
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& candidate : candidates)
    ranked.emplace_back(twice_distance(name, candidate), candidate);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> best;
  for (std::size_t i = 0; i < ranked.size() && i < 3; ++i) best.push_back(ranked[i].second);
  return best;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const std::vector<std::string> best = nearest_names(name, candidates);
  // A third of the letters may be wrong, and one always.
  const std::size_t allowed = std::max<std::size_t>(1, name.size() / 3);
  return !best.empty() && distance(small(name), small(best[0])) <= allowed ? best[0] : "";
}

std::string counted(std::int64_t n, std::string_view one, std::string_view many) {
  std::string text = std::to_string(n) + " ";
  if (n == 1) return text.append(one);
  return many.empty() ? text.append(one) + "s" : text.append(many);
}

}  // namespace costate
