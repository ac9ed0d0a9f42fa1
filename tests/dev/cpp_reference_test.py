"""tools/cpp_reference.py finds what a header offers, and leaves out what it does not."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import cpp_reference  # noqa: E402

HEADER = """// Ball: how it bounces. Second sentence.
//
// More.
#pragma once
#include <vector>

namespace costate::ode {
namespace ball_detail { int hidden(); }

// Where it is.
struct Ball {
  double h = 0;  // m
  Ball thrown(double speed, const Options& options = {}) const;

 private:
  int secret_;
};

// Its height after a time.
template <class Real>
Real height(const Ball& ball, Real t) {
  return {};
}
}  // namespace costate::ode
"""


class Reference(unittest.TestCase):
    def test_declarations_come_with_their_comments(self):
        found = cpp_reference.declarations(HEADER)
        self.assertEqual([(d, c) for d, c, _ in found],
                         [("struct Ball", "Where it is."), ("template <class Real> Real height(const Ball& ball, Real t)", "Its height after a time.")])
        self.assertEqual([(d, c) for d, c, _ in cpp_reference.members(found[0][2])],
                         [("double h = 0", "m"), ("Ball thrown(double speed, const Options& options = {}) const", "")])
        self.assertEqual(cpp_reference.head_of(HEADER), "Ball: how it bounces. Second sentence.")

    def test_the_page_has_the_names_of_the_guides(self):
        page = cpp_reference.page()
        for name in ("class Rollout", "value_and_gradient", "StepJacobian", "write_replay", "lambda_system", "check_gradient"):
            self.assertIn(name, page)


if __name__ == "__main__":
    unittest.main()
