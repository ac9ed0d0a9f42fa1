// bin/costate: the command line as a program of its own. From Python the same is `python -m costate`.
#include <cstdio>
#include <iostream>

#include "commands.h"

int main(int argc, char** argv) {
  const int code = costate::app::run(argc, argv);
  // A full disk shows when what is left is written.
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout) return code;
  std::fputs("costate: the output cannot be written; is there room?\n", stderr);
  return code != 0 ? code : 2;
}
