#include "costate/soft/elements/wind.h"

namespace costate::soft {
namespace {

using V = Vec3<double>;

V at(const double* y, int vertex) { return {y[3 * vertex], y[3 * vertex + 1], y[3 * vertex + 2]}; }
void put(const V& v, double* to) { to[0] = v.x, to[1] = v.y, to[2] = v.z; }

}  // namespace

void Wind::force(const double* x, const V& W, double c, double* slots) const {
  for (std::int64_t t = 0; t < triangles.count(); ++t) {
    const int* v = triangles.vertex.data() + 3 * t;
    const V N = cross(at(x, v[1]) - at(x, v[0]), at(x, v[2]) - at(x, v[0]));
    const V f = (c / 6 * dot(N, W) / norm(N)) * N;
    for (int a = 0; a < 3; ++a) put(f, slots + 9 * t + 3 * a);
  }
}

void Wind::force_jvp(const double* x, const double* x_dot, const V& W, const V& W_dot, double c, double c_dot,
                     double* slots) const {
  for (std::int64_t t = 0; t < triangles.count(); ++t) {
    const int* v = triangles.vertex.data() + 3 * t;
    const V e = at(x, v[1]) - at(x, v[0]), a = at(x, v[2]) - at(x, v[0]), N = cross(e, a);
    V N_dot = V::zero();
    if (x_dot)
      N_dot = cross(at(x_dot, v[1]) - at(x_dot, v[0]), a) + cross(e, at(x_dot, v[2]) - at(x_dot, v[0]));
    const double length = norm(N), length_dot = dot(N, N_dot) / length, along = dot(N, W);
    const double k = c / 6 * along / length;
    const double k_dot = c_dot / 6 * along / length + c / 6 * (dot(N_dot, W) + dot(N, W_dot)) / length -
                         k * length_dot / length;
    for (int b = 0; b < 3; ++b) put(k_dot * N + k * N_dot, slots + 9 * t + 3 * b);
  }
}

void Wind::force_vjp(const double* x, const V& W, double c, const double* mu, double* x_bar, V& W_bar,
                     double& c_bar) const {
  for (std::int64_t t = 0; t < triangles.count(); ++t) {
    const int* v = triangles.vertex.data() + 3 * t;
    const V e = at(x, v[1]) - at(x, v[0]), a = at(x, v[2]) - at(x, v[0]), N = cross(e, a);
    const V s = at(mu, v[0]) + at(mu, v[1]) + at(mu, v[2]);
    const double length = norm(N), Ns = dot(N, s), NW = dot(N, W);
    c_bar += NW * Ns / (6 * length);
    W_bar += (c / 6 * Ns / length) * N;
    const V N_bar = (c / 6 / length) * (Ns * W + NW * s - (NW * Ns / (length * length)) * N);
    const V e_bar = cross(a, N_bar), a_bar = cross(N_bar, e);
    put(-(e_bar + a_bar), x_bar + 9 * t);
    put(e_bar, x_bar + 9 * t + 3);
    put(a_bar, x_bar + 9 * t + 6);
  }
}

}  // namespace costate::soft
