// AnySystem: a physics as Python sees it, in both precisions. The typed System is made when a rollout first
// needs it; how many lanes it has may depend on the number of worlds. AnyLoss: an objective that is not yet
// bound to a signature and a precision.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "arrays.h"
#include "costate/rigid/model.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/checkpoints.h"
#include "costate/system/objective.h"
#include "costate/system/system.h"
#include "pickles.h"

namespace costate::python {

template <class Real>
using SystemPtr = std::shared_ptr<const System<Real>>;
using Shapes = std::map<std::string, Shape>;  // of fields

// costate.binomial(8), ...; None: store_all().
Checkpoints checkpoints_of(nb::handle given);

class AnySystem {
 public:
  template <class Real>
  using Make = std::function<SystemPtr<Real>(std::int64_t worlds)>;

  // `initial`: where a rollout starts unless told otherwise; empty: at zero.
  AnySystem(std::string name, Make<double> in_double, Make<float> in_single, std::vector<double> initial);

  const std::string& name() const { return name_; }
  const Signature& signature() const { return signature_; }
  const std::vector<double>& initial() const { return initial_; }
  System<double>::Capabilities capabilities() const { return capabilities_; }
  // The rigid bodies that its states are of; otherwise null.
  const std::shared_ptr<const rigid::Model>& model() const { return model_; }
  const rigid::SystemOptions& rigid_options() const { return rigid_options_; }
  void set_model(std::shared_ptr<const rigid::Model> model, const rigid::SystemOptions& options) {
    model_ = std::move(model);
    rigid_options_ = options;
  }

  // Of parameters that are not flat.
  Shapes shapes;
  // The call that made it, (function, arguments, keywords), or None.
  Kept recipe;

  // Position among the parameters. Error with near misses.
  std::size_t parameter(const std::string& name) const;

  template <class Real>
  SystemPtr<Real> make(std::int64_t worlds) const {
    if constexpr (sizeof(Real) == 8)
      return in_double_(worlds);
    else
      return in_single_(worlds);
  }

 private:
  std::string name_;
  Make<double> in_double_;
  Make<float> in_single_;
  Signature signature_;
  System<double>::Capabilities capabilities_;
  std::vector<double> initial_;
  std::unordered_map<std::string, std::size_t> positions_;
  std::shared_ptr<const rigid::Model> model_;
  rigid::SystemOptions rigid_options_;
};

struct AnyLoss {
  std::function<ObjectivePtr<double>(const Signature&, const Shapes&)> in_double;
  std::function<ObjectivePtr<float>(const Signature&, const Shapes&)> in_single;
  std::string text;
  Kept recipe;  // as of AnySystem
  // Made of a Python function, which may refer to what has changed since: it is recorded again for every
  // call.
  bool changes = false;

  template <class Real>
  ObjectivePtr<Real> bind(const Signature& signature, const Shapes& shapes) const {
    if constexpr (sizeof(Real) == 8)
      return in_double(signature, shapes);
    else
      return in_single(signature, shapes);
  }
  template <class Real>
  ObjectivePtr<Real> bind(const AnySystem& system) const {
    return bind<Real>(system.signature(), system.shapes);
  }
};
using AnyLossPtr = std::shared_ptr<const AnyLoss>;

// make.template operator()<Real>(signature) for both precisions; or (signature, shapes), of a loss that a
// function of fields makes, or that has others inside.
template <class Make>
std::shared_ptr<AnyLoss> any_loss(std::string text, Make make) {
  auto loss = std::make_shared<AnyLoss>();
  loss->text = std::move(text);
  const auto of = [make]<class Real>(const Signature& s, const Shapes& shapes) {
    if constexpr (requires { make.template operator()<Real>(s, shapes); })
      return make.template operator()<Real>(s, shapes);
    else
      return make.template operator()<Real>(s);
  };
  loss->in_double = [of](const Signature& s, const Shapes& shapes) {
    return of.template operator()<double>(s, shapes);
  };
  loss->in_single = [of](const Signature& s, const Shapes& shapes) {
    return of.template operator()<float>(s, shapes);
  };
  return loss;
}

}  // namespace costate::python
