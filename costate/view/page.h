// The parts of the page that are the same for every replay, put into the library when it is built.
#pragma once

#include <string_view>

namespace costate::view {

struct Page {
  std::string_view style, body, three, viewer;
};
Page page_parts();

}  // namespace costate::view
