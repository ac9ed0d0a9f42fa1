#include <map>

#include "costate/core/error.h"
#include "costate/soft/elements/rod_term.h"

namespace costate::soft {

RodJoints joints_of(const Part& part) {
  struct End {
    int before = -1, after = -1;  // the segments that end and begin at a vertex
  };
  std::map<int, End> ends;
  const auto fail = [&](int vertex, const char* what, const char* advice) {
    throw Error({"vertex " + std::to_string(vertex) + " of rod '" + part.name + "' " + what, {}, advice});
  };
  const int count = int(part.vertices.size() / 3);
  for (int s = 0; s < count; ++s)
    for (const int k : {0, 1}) {
      const int vertex = part.vertices[std::size_t(3 * s + k)];
      End& end = ends[vertex];
      int& own = k == 0 ? end.after : end.before;
      if (own >= 0 && (k == 0 ? end.before : end.after) >= 0)
        fail(vertex, "belongs to three segments",
             "make the third one a part of its own that shares the vertex");
      if (own >= 0)
        fail(vertex, k == 0 ? "begins two segments" : "ends two segments",
             "segments follow one another, (0, 1), (1, 2), ...: swap the ends of one of them");
      own = s;
    }
  RodJoints r;
  for (const auto& [vertex, end] : ends) {
    if (end.before < 0 || end.after < 0) continue;
    const int *p = part.vertices.data() + 3 * end.before, *q = part.vertices.data() + 3 * end.after;
    r.vertices.insert(r.vertices.end(), {p[0], p[1], q[1], p[2], q[2]});
    r.segments.insert(r.segments.end(), {end.before, end.after});
  }
  return r;
}

}  // namespace costate::soft
