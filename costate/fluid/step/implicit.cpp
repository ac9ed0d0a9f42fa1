#include "costate/fluid/step/implicit.h"

namespace costate::fluid {

template <class S, int Dim>
void ImplicitViscosity<S, Dim>::apply(FlowModel::Weights w, const Speeds<Real>& u) const {
  const S step = everywhere<S>(One(Real(w.share)) * dt);
  each_free([&](std::size_t a, Index at, Index count) {
    store<S>(work.delta[a], at,
             load<S>(work.star[a], at) - load<S>(u[a], at) * (S(Real(1)) + step * resistance<S>(a, at)),
             count);
  });
  solve(w, work.delta);
  each_free([&](std::size_t a, Index at, Index count) {
    store<S>(work.star[a], at, load<S>(u[a], at) + load<S>(work.delta[a], at), count);
  });
}

template <class S, int Dim>
void ImplicitViscosity<S, Dim>::transpose(FlowModel::Weights w) const {
  const S step = everywhere<S>(One(Real(w.share)) * dt);
  each_free([&](std::size_t a, Index at, Index count) {
    store<S>(work.extra[a], at, load<S>(work.star_bar[a], at), count);
  });
  solve(w, work.star_bar);
  // Its halo: zero beyond the sides, as every transpose of a stage expects.
  for (int a = 0; a < Dim; ++a) sides.template set_nothing_beyond<One>(work.star_bar[std::size_t(a)], a);
  each_free([&](std::size_t a, Index at, Index count) {
    const S r = load<S>(work.star_bar[a], at);
    store<S>(work.extra[a], at, load<S>(work.extra[a], at) - r * (S(Real(1)) + step * resistance<S>(a, at)),
             count);
  });
}

template <class S, int Dim>
void ImplicitViscosity<S, Dim>::add_extra(const Speeds<Real>& u_bar) const {
  each_free([&](std::size_t a, Index at, Index count) {
    store<S>(u_bar[a], at, load<S>(u_bar[a], at) + load<S>(work.extra[a], at), count);
  });
}

template <class S, int Dim>
void ImplicitViscosity<S, Dim>::transpose_sums(FlowModel::Weights w, One& dt_bar) const {
  close(work.delta);
  for (int c = 0; c < Dim; ++c) {
    const auto a = std::size_t(c);
    const auto sums = sum_packs<S, 1>(shape, sides.free_faces(c), work.sums, [&](Index at, Index) {
      return std::array<S, 1>{load<S>(work.star_bar[a], at) * spread<S>(work.delta[a], c, at)};
    });
    dt_bar = dt_bar + One(Real(w.theta * w.share)) * sums[0];
  }
}

template <class S, int Dim>
void ImplicitViscosity<S, Dim>::transpose_viscosity(FlowModel::Weights w) const {
  close(work.delta);
  const S step = everywhere<S>(One(Real(w.theta * w.share)) * dt);
  const auto link = [&](int c, int along, Index at, Index before) {
    const auto a = std::size_t(c);
    const S rise = load<S>(work.delta[a], at) - load<S>(work.delta[a], before),
            bar = load<S>(work.star_bar[a], at) - load<S>(work.star_bar[a], before);
    return Real(per_h(along) * per_h(along)) * rise * bar;
  };
  const auto take = [&](const Plane<Real>& from, Index at, const S& x, Index count) {
    store<S>(from, at, load<S>(from, at) - step * x, count);
  };
  each_pack<S>(shape, shape.all_cells(), [&](Index at, Index count) {
    S sum = link(0, 0, at + 1, at);
    for (int a = 1; a < Dim; ++a) sum = sum + link(a, a, at + stride(a), at);
    take(work.viscosity_bar, at, sum, count);
  });
  for (int a = 0; a < Dim; ++a) {
    for (int b = a + 1; b < Dim; ++b) {
      Box edges = shape.faces(a);
      edges.hi[std::size_t(b)] = shape.faces(b).hi[std::size_t(b)];
      each_pack<S>(shape, edges, [&](Index at, Index count) {
        take(work.edges_bar[std::size_t(edge(a, b))], at,
             link(a, b, at, at - stride(b)) + link(b, a, at, at - stride(a)), count);
      });
    }
  }
}

template <class S, int Dim>
void ImplicitViscosity<S, Dim>::solve(FlowModel::Weights w, const Speeds<Real>& x) const {
  const double share = w.share * double(value_of(dt));
  if constexpr (!kIsDual<S>) {
    for (int c = 0; c < Dim; ++c) solve_values(share, w.theta, c, x[std::size_t(c)].value);
  } else {
    const S step = everywhere<S>(One(Real(w.share)) * dt);
    for (int c = 0; c < Dim; ++c) {
      const auto a = std::size_t(c);
      const Box box = sides.free_faces(c);
      const Plane<Real>&f = x[a], kept{work.image.tangent, nullptr};
      each_pack<P>(shape, box, [&](Index at, Index count) {
        store<P>(kept, at, load<P>({f.tangent, nullptr}, at), count);
        store<P>({f.tangent, nullptr}, at, P(0), count);
      });
      solve_values(share, w.theta, c, f.value);
      sides.template set_still<One>(f, c);
      each_pack<S>(shape, box, [&](Index at, Index count) {
        const S image = load<S>(f, at) * (S(Real(1)) + step * resistance<S>(a, at)) -
                        Real(w.theta) * step * spread<S>(f, c, at);
        store<P>(kept, at, load<P>(kept, at) - image.d[0], count);
      });
      each_pack<P>(shape, box, [&](Index at, Index count) {
        store<P>({f.tangent, nullptr}, at, load<P>(kept, at), count);
      });
      solve_values(share, w.theta, c, f.tangent);
    }
  }
}

template <class S, int Dim>
void ImplicitViscosity<S, Dim>::gradients(double share, double theta, int c, Real* x) const {
  const auto a = std::size_t(c);
  const Box box = sides.free_faces(c);
  const Plane<Real> r{x, nullptr}, found{work.found.value, nullptr}, p{work.search.value, nullptr},
      q{work.image.value, nullptr};
  const P step{Real(share)}, implicit{Real(theta * share)};
  const auto diagonal = [&](Index at) {
    P sum = P(1) + step * resistance<P>(a, at);
    for (int b = 0; b < Dim; ++b) {
      const Plane<Real>& nu = b == c ? work.viscosity : work.edges[std::size_t(edge(c, b))];
      const Index low = b == c ? at - stride(b) : at, high = b == c ? at : at + stride(b);
      sum = sum + implicit * P(Real(per_h(b) * per_h(b))) * (load<P>(nu, low) + load<P>(nu, high));
    }
    return sum;
  };
  const auto squared = [&] {
    return double(sum_packs<P, 1>(shape, box, work.sums, [&](Index at, Index) {
      const P left = load<P>(r, at);
      return std::array<P, 1>{left * left / diagonal(at)};
    })[0]);
  };
  each_pack<P>(shape, box, [&](Index at, Index count) {
    store<P>(found, at, P(0), count);
    store<P>(p, at, load<P>(r, at) / diagonal(at), count);
  });
  const double eps = 0.01 * double(std::numeric_limits<Real>::epsilon());
  double rho = squared();
  const double enough = eps * eps * rho;
  const Index most = 20 * (shape.n[0] + shape.n[1] + shape.n[2]) + 1000;
  for (Index k = 0; rho > enough && rho > 1e-290; ++k) {
    if (k == most || !std::isfinite(rho))
      throw Error({"implicit viscosity is not found after " + std::to_string(k) + " iterations",
                   {},
                   "take dt below " + number(0.5 * double(value_of(dt)))},
                  Error::Kind::numerics);
    sides.template set_still<Real>(p, c);
    each_pack<P>(shape, box, [&](Index at, Index count) {
      store<P>(q, at, load<P>(p, at) * (P(1) + step * resistance<P>(a, at)) - implicit * spread<P>(p, c, at),
               count);
    });
    const double curved = double(sum_packs<P, 1>(shape, box, work.sums, [&](Index at, Index) {
      return std::array<P, 1>{load<P>(p, at) * load<P>(q, at)};
    })[0]);
    const P far{Real(rho / curved)};
    each_pack<P>(shape, box, [&](Index at, Index count) {
      store<P>(found, at, load<P>(found, at) + far * load<P>(p, at), count);
      store<P>(r, at, load<P>(r, at) - far * load<P>(q, at), count);
    });
    const double next = squared();
    const P turn{Real(next / rho)};
    rho = next;
    each_pack<P>(shape, box, [&](Index at, Index count) {
      store<P>(p, at, load<P>(r, at) / diagonal(at) + turn * load<P>(p, at), count);
    });
  }
  each_pack<P>(shape, box, [&](Index at, Index count) { store<P>(r, at, load<P>(found, at), count); });
}

template struct ImplicitViscosity<NativePack<float>, 2>;
template struct ImplicitViscosity<NativePack<double>, 2>;
template struct ImplicitViscosity<Dual<NativePack<float>>, 2>;
template struct ImplicitViscosity<Dual<NativePack<double>>, 2>;
template struct ImplicitViscosity<NativePack<float>, 3>;
template struct ImplicitViscosity<NativePack<double>, 3>;
template struct ImplicitViscosity<Dual<NativePack<float>>, 3>;
template struct ImplicitViscosity<Dual<NativePack<double>>, 3>;

}  // namespace costate::fluid
