// A step of one world without hard contact (rigid/contact/hard_contact.h), which has no kernels for a device:
// rigid_model.cpp refuses such models before a step is taken.
#pragma once

#include "costate/rigid/contact/hard_contact.h"

namespace costate::rigid {

#define COSTATE_NO_HARD_CONTACT(S)                                                                         \
  template <>                                                                                              \
  struct HardWork<S>::Lists {};                                                                            \
  template <>                                                                                              \
  inline HardWork<S>::HardWork(const Tree&, const Constraints&) {}                                         \
  template <>                                                                                              \
  inline HardWork<S>::~HardWork() {}                                                                       \
  template <>                                                                                              \
  inline void hard_contact(const Tree&, const Constraints&, const S*, const S*, const S*, Data<S>&,        \
                           ConstraintData<S>&, HardWork<S>&, S*) {}                                        \
  template <>                                                                                              \
  inline void recall_hard_contact(const Tree&, const Constraints&, const S*, const S*, const S*, const S*, \
                                  Data<S>&, ConstraintData<S>&, HardWork<S>&) {}                           \
  template <>                                                                                              \
  inline S hard_impulses_vjp(const Tree&, const Constraints&, const S*, const S*, const Wanted&, S*, S*,   \
                             Data<S>&, ConstraintData<S>&, HardWork<S>&) {                                 \
    return S(0);                                                                                           \
  }                                                                                                        \
  template <>                                                                                              \
  inline void hard_points_vjp(const Tree&, const Constraints&, Implicit, const S*, const StateIn<S>&,      \
                              const Wanted&, const StateBar<S>&, Data<S>&, ConstraintData<S>&,             \
                              HardWork<S>&) {}
COSTATE_NO_HARD_CONTACT(float)
COSTATE_NO_HARD_CONTACT(double)
#undef COSTATE_NO_HARD_CONTACT

}  // namespace costate::rigid
