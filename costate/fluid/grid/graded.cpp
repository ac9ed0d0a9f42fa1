#include "costate/fluid/grid/graded.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/text.h"

namespace costate::fluid {
namespace {

void check(const std::vector<std::array<double, 2>>& at, std::int64_t cells) {
  const char* const advice = "write pairs: [[0, 4], [0.15, 1], [0.35, 1], [2.2, 8]]";
  if (at.size() < 2 || at[0][0] != 0)
    throw Error(
        {"widths along an axis are pairs of a place and a width, at least two, and the first place is 0",
         {},
         advice});
  for (std::size_t k = 0; k < at.size(); ++k)
    if (!(at[k][1] > 0) || !std::isfinite(at[k][0] + at[k][1]) || (k > 0 && !(at[k][0] > at[k - 1][0])))
      throw Error({"at the place " + number(at[k][0]) + " cells are to be " + number(at[k][1]) +
                       " wide: places must grow, and widths be positive",
                   {},
                   advice});
  if (cells == 1 || cells < 0 || cells > 1 << 16)
    throw Error({"an axis has " + std::to_string(cells) + " cells", {}, "take at least 2 and at most 65536"});
}

// Cells of a piece whose widths grow from w[0] to w[1]; and the place that so many cells lead to.
double cells_of(double length, double from, double to) {
  const double growth = (to - from) / length;
  return growth == 0 ? length / from : std::log(to / from) / growth;
}
double place_after(double cells, double length, double from, double to) {
  const double growth = (to - from) / length;
  return growth == 0 ? cells * from : std::expm1(cells * growth) * from / growth;
}

}  // namespace

std::vector<double> graded_widths(const std::vector<std::array<double, 2>>& at, std::int64_t cells) {
  check(at, cells);
  std::vector<double> before = {0};  // cells of width w up to each place
  for (std::size_t k = 1; k < at.size(); ++k)
    before.push_back(before.back() + cells_of(at[k][0] - at[k - 1][0], at[k - 1][1], at[k][1]));
  if (cells == 0) {
    if (!(before.back() < 1 << 16))
      throw Error({"an axis of such widths has " + number(before.back()) + " cells", {}, "make cells wider"});
    cells = std::max<std::int64_t>(2, std::lround(before.back()));
  }
  std::vector<double> widths;
  double last = 0;
  for (std::int64_t i = 1; i <= cells; ++i) {
    const double wanted = before.back() * double(i) / double(cells);
    std::size_t k = 1;
    while (k + 1 < at.size() && before[k] < wanted) ++k;
    const double place = i == cells
                             ? at.back()[0]
                             : at[k - 1][0] + place_after(wanted - before[k - 1], at[k][0] - at[k - 1][0],
                                                          at[k - 1][1], at[k][1]);
    widths.push_back(place - last);
    last = place;
  }
  return widths;
}

}  // namespace costate::fluid
