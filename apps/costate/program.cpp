// bin/costate: the command line as a program of its own. From Python the same is `python -m costate`.
#include "commands.h"

int main(int argc, char** argv) { return costate::app::run(argc, argv); }
