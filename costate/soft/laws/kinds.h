// The laws that there are, one function each; laws.cpp lists them.
#pragma once

#include "costate/soft/laws/lame_law.h"

namespace costate::soft {

const SolidLaw& neo_hookean();         // neo_hookean.cpp
const SolidLaw& neo_hookean_j();       //
const SolidLaw& neo_hookean_simple();  //
const SolidLaw& neo_hookean_stable();  //
const SolidLaw& fixed_corotated();     // corotated.cpp
const SolidLaw& corotated();           //
const SolidLaw& arap();                //
const SolidLaw& stvk();                // strain.cpp
const SolidLaw& hencky();              //
const SolidLaw& mooney_rivlin();       // rubber.cpp
const SolidLaw& fung();                //
const SolidLaw& fibre();               // fibre.cpp
const SolidLaw& muscle();              //
const MembraneLaw& membrane_stvk();    // membrane.cpp
const MembraneLaw& membrane_neo_hookean();
const MembraneLaw& membrane_arap();
const MembraneLaw& membrane_limited();      // limited.cpp
const MembraneLaw& membrane_orthotropic();  // woven.cpp
const MembraneLaw& membrane_baraff_witkin();

}  // namespace costate::soft
