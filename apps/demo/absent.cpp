// What a program says when it needs a part that it was built without (cmake/CostatePart.cmake).
//
// Every name that its objects use and none defines is another name of one function, so that the linker is
// content. The list is made when the objects are there: tools/absent_symbols.py.
#include <cstdio>
#include <cstdlib>

extern "C" [[noreturn]] void costate_absent();
extern "C" void costate_absent() {
  std::fputs(
      "costate_demo: this file needs a part of costate that the demo is built without\n"
      "  build everything with ./dev build, and use build/bin/costate\n",
      stderr);
  std::exit(2);
}

#define COSTATE_ABSENT(name) asm(".globl " name "\n.set " name ", costate_absent");
#include "absent_symbols.inc"
