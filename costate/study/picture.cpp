#include "costate/study/picture.h"

#include "costate/core/error.h"

namespace costate::study {

void Picture::also_write(const std::string&) {
  throw Error({"this physics has no trajectory of atoms", "--trajectory", "it is molecules that have one"});
}

}  // namespace costate::study
