#include "costate/system/room.h"

#include <unistd.h>

#include "costate/core/error.h"
#include "costate/core/text.h"

namespace costate {

double memory_bytes() { return double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGE_SIZE)); }

void expect_room(const std::string& what, double bytes, const std::string& advice) {
  if (bytes <= memory_bytes()) return;
  throw Error({what + " take " + number(bytes / 1e9, 3) + " GB, and this machine has " +
                   number(memory_bytes() / 1e9, 3) + " GB",
               {},
               advice});
}

}  // namespace costate
