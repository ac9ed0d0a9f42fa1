// Body and controller in one gradient: a swimmer of five links gets a better controller and a better body at
// the same time. Length, mass and motors are shared out anew among the links: their sums stay what they are.
//
//   codesign_swimmer [swimmer.html [short]]
//
// Compared with: the same controller trained as long on the body of the file; and CMA-ES on the body alone,
// with a controller that is trained further for each body, and eight times as many simulations.
#include <costate/costate.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include "examples/contact_task.h"

using namespace costate;

constexpr std::size_t kLinks = 5, kMotors = 4, kBody = 2 * kLinks + kMotors;
constexpr int kWorlds = 8, kHidden = 16;
constexpr std::int64_t kSteps = 400;  // 4 s

const char* const kNames[kLinks] = {"head", "link1", "link2", "link3", "link4"};

// [edit]
// 1. Fourteen numbers z, zero for the body of the file: how long and how thick each link is and how strong
//    each motor, between half and twice; then scaled so that the sums are what they were.
double ratio(double z) { return std::exp(std::log(2.0) * std::tanh(z)); }

void edit(std::span<const double> z, rigid::Spec& spec) {
  double length = 0, gear = 0;
  for (std::size_t i = 0; i < kLinks; ++i) length += ratio(z[i]) / double(kLinks);
  for (std::size_t i = 0; i < kMotors; ++i) gear += ratio(z[2 * kLinks + i]) / double(kMotors);
  for (std::size_t i = 0; i < kLinks; ++i) {
    rigid::GeomSpec& link = spec.geom(kNames[i]);
    const double l = 0.3 * ratio(z[i]) / length;
    link.fromto = i == 0 ? rigid::Double6{l, 0, 0, 0, 0, 0} : rigid::Double6{0, 0, 0, -l, 0, 0};
    link.size[0] *= ratio(z[kLinks + i]);
    if (i > 0 && i + 1 < kLinks) spec.body(kNames[i + 1]).pos = {-l, 0, 0};
  }
  for (std::size_t i = 0; i < kMotors; ++i) spec.actuators[i].gear[0] *= ratio(z[2 * kLinks + i]) / gear;
}
// [/edit]

class Swimmers {
 public:
  explicit Swimmers(rigid::Spec spec)
      : design_(std::move(spec), std::vector<double>(kBody, 0.0), edit),
        model_(design_.model(design_.start())),
        system_(learn::closed_loop<double>(rigid::make_system<double>(model_), network())),
        rollout_(system_, {.steps = kSteps, .worlds = kWorlds}),
        // As far as possible, and straight ahead.
        loss_(loss::expression<double>(system_->signature(), "0.3*q[1]^2 - q[0]")),
        at_(rollout_.arguments()) {
    const std::vector<double> start = rigid::initial_state(model_);
    at_.x0.clear();
    for (int w = 0; w < kWorlds; ++w) at_.x0.insert(at_.x0.end(), start.begin(), start.end());
  }

  std::size_t weights() const {
    std::size_t count = 0;
    for (const char* name : kWeights)
      count += std::size_t(system_->signature().find(Role::parameter, name).size);
    return count;
  }
  std::size_t size() const { return weights() + kBody; }

  // 2. A point is a controller and a body. One backward pass gives the gradient of both.
  // [gradient]
  void gradients(const double* points, int count, double* values, double* gradients, bool with_body) {
    set(points, count);
    const auto g = rollout_.value_and_gradient(at_, *loss_);
    std::vector<double> body(std::size_t(count) * kBody, 0.0);
    if (with_body) body = design_.gradient({bodies_.data(), body.size()}, g.parameters);
    for (std::size_t k = 0; k < std::size_t(count); ++k) {
      values[k] = g.values[k];
      double* to = gradients + k * size();
      for (const char* name : kWeights) {
        const auto all = g.parameters[name];
        const std::size_t each = all.size() / kWorlds;
        to = std::copy_n(all.begin() + std::ptrdiff_t(k * each), each, to);
      }
      std::copy_n(body.begin() + std::ptrdiff_t(k * kBody), kBody, to);
    }
  }
  // [/gradient]

  // The controllers of 8 weak random starts, on the body of the file.
  std::vector<double> starts() const {
    std::vector<double> points;
    for (std::uint32_t w = 0; w < kWorlds; ++w) {
      points.push_back(6.0);  // rad/s, of the rhythm
      for (std::uint32_t i = 1; i < weights(); ++i) points.push_back(0.3 * normal<double>(3, w, 0, i));
      points.insert(points.end(), kBody, 0.0);
    }
    return points;
  }

  rigid::Model model(const std::vector<double>& point) const {
    return design_.model({point.data() + weights(), kBody});
  }
  io::Recording film(const std::string& title, const std::vector<double>& point) {
    set(point.data(), 1);
    Rollout<double> one(system_, {.steps = kSteps, .worlds = kWorlds, .keep = 4});
    Arguments<double> at = one.arguments();
    at.x0 = at_.x0, at.parameters = at_.parameters;
    const auto run = one.simulate(at);
    const std::size_t width = run.final_state.size() / kWorlds;
    std::vector<double> states;
    for (std::size_t f = 0; f < run.kept.size(); ++f) {
      const auto first = run.states.begin() + std::ptrdiff_t(f * width * kWorlds);
      states.insert(states.end(), first, first + std::ptrdiff_t(width));
    }
    return task::record(model(point), title, states, 4 * model_.options.timestep);
  }

 private:
  static constexpr const char* kWeights[] = {"policy/omega", "policy/w1", "policy/b1", "policy/w2",
                                             "policy/b2"};

  // A rhythm, the angles and rates of the joints, and the heading.
  static learn::PolicyNetwork network() {
    learn::PolicyNetwork n{.waves = 4, .hidden = kHidden};
    for (int i = 2; i < 7; ++i) n.observations.push_back({{{i, 1.0}}});
    for (int i = 10; i < 14; ++i) n.observations.push_back({{{i, 0.1}}});
    return n;
  }

  // Worlds without a point repeat the last one.
  void set(const double* points, int count) {
    std::vector<double> bodies;
    std::size_t offset = 0;
    for (const char* name : kWeights) {
      const auto each = std::size_t(system_->signature().find(Role::parameter, name).size);
      std::vector<double> all;
      for (int w = 0; w < kWorlds; ++w) {
        const double* from = points + std::size_t(std::min(w, count - 1)) * size() + offset;
        all.insert(all.end(), from, from + each);
      }
      at_.parameters.set(name, std::move(all));
      offset += each;
    }
    for (int w = 0; w < kWorlds; ++w) {
      const double* from = points + std::size_t(std::min(w, count - 1)) * size() + offset;
      bodies.insert(bodies.end(), from, from + kBody);
    }
    if (bodies != bodies_) design_.write(bodies, at_.parameters);
    bodies_ = std::move(bodies);
  }

  rigid::Design design_;
  rigid::Model model_;
  std::shared_ptr<System<double>> system_;
  Rollout<double> rollout_;
  ObjectivePtr<double> loss_;
  Arguments<double> at_;
  std::vector<double> bodies_ = {};
};

// CMA-ES on bodies: each gets the controller found so far, trained for a few iterations on it.
task::Found by_bodies(Swimmers& swimmers, const std::vector<double>& start, int iterations,
                      double simulations) {
  const std::size_t n = swimmers.size(), w = swimmers.weights();
  task::Found best;
  best.value = HUGE_VAL;
  const optim::ValuesOfPoints values = [&](const double* bodies, int count, double* out) {
    for (int first = 0; first < count; first += kWorlds) {
      const int some = std::min(kWorlds, count - first);
      std::vector<double> points;
      for (int k = 0; k < some; ++k) {
        points.insert(points.end(), start.begin(), start.begin() + std::ptrdiff_t(w));
        points.insert(points.end(), bodies + std::size_t(first + k) * kBody,
                      bodies + std::size_t(first + k + 1) * kBody);
      }
      std::fill_n(out + first, some, HUGE_VAL);
      std::vector<double> now(std::size_t(some), 0.0);
      const auto train = [&](const double* at, double* gradient) {
        swimmers.gradients(at, some, now.data(), gradient, false);
        best.simulations += task::kGradientCost * some;
        for (int k = 0; k < some; ++k) {
          if (now[std::size_t(k)] < best.value)
            best.value = now[std::size_t(k)],
            best.x.assign(at + std::size_t(k) * n, at + std::size_t(k + 1) * n);
          out[first + k] = std::min(out[first + k], now[std::size_t(k)]);
        }
        best.curve.push_back({best.simulations, best.value});
        double sum = 0;
        for (const double value : now) sum += value;
        return sum;
      };
      optim::minimize(train, points,
                      optim::AdamOptions{.rate = 0.02, .stopping = {.max_iterations = iterations}});
    }
  };
  optim::minimize(values, std::vector<double>(kBody, 0.0),
                  optim::CmaEsOptions{.sigma = 0.3,
                                      .population = 8,
                                      .max_evaluations = std::max(
                                          8L, long(simulations / (task::kGradientCost * (iterations + 1))))});
  return best;
}

int main(int argc, char** argv) {
  const bool brief = argc > 2 && std::string(argv[2]) == "short";
  const int iterations = brief ? 60 : 300;
  rigid::Spec spec = rigid::load_spec(COSTATE_SCENES "/swimmer.xml");
  double mass = 0;
  for (const rigid::Body& body : rigid::compile(spec).bodies) mass += body.mass;
  spec.compiler.set_total_mass = mass;
  Swimmers swimmers(spec);
  const auto clock = [begin = std::chrono::steady_clock::now()] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const auto search = [&](bool with_body, const std::vector<double>& starts) {
    return task::by_adam(
        [&](const double* points, int count, double* values, double* gradients) {
          swimmers.gradients(points, count, values, gradients, with_body);
        },
        int(swimmers.size()), starts,
        {.rate = 0.02, .decay = 1 - 1.0 / iterations, .iterations = iterations, .limit = 1});
  };
  // 3. Eight controllers for the body as it is; the best of them goes on, with that body, or with its own.
  const task::Found first = search(false, swimmers.starts());
  const double t_first = clock();
  const task::Found controller = search(false, first.x);
  const double t_controller = clock();
  const task::Found both = search(true, first.x);
  const double t_both = clock();
  // 4. Without the gradient of the body.
  const task::Found bodies = by_bodies(swimmers, first.x, 10, both.simulations * (brief ? 1 : 8));
  const double t_bodies = clock();

  const double gain = both.value / controller.value;
  std::printf(
      "%zu weights and %zu numbers of the body: %s further than the same controller on the body of the "
      "file\n",
      swimmers.weights(), kBody, gain > 1.2 ? "more than 20 %" : "less than 20 %");
  std::printf("CMA-ES on the body %s\n", bodies.value > both.value ? "comes less far" : "comes as far");
  std::fprintf(stderr,
               "controller %.2f m (8 starts, %.0f s), %.2f m (as long again, %.0f s); with the body %.2f m "
               "(%.0f %% further, %.0f s, %.0f simulations); CMA-ES %.2f m (%.0f s, %.0f simulations)\n",
               -first.value, t_first, -controller.value, t_controller - t_first, -both.value,
               100 * (gain - 1), t_both - t_controller, both.simulations, -bodies.value, t_bodies - t_both,
               bodies.simulations);
  view::write_replay(argc > 1 ? argv[1] : "codesign_swimmer.html",
                     {swimmers.film("the body of the file", controller.x),
                      swimmers.film("its own body", both.x), swimmers.film("CMA-ES", bodies.x)},
                     {.title = "Body and controller in one gradient"});
  return gain > 1.2 ? 0 : 1;
}
