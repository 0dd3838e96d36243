// ridgeline/cli/program.h
//
// The program `ridgeline`: finds the command, runs it, and turns failures into one line and an exit code: 2 for a wrong
// call, 1 for a failure, 130 when interrupted. Once per process, on its main thread.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::cli {

// argv[0] is ignored.
int run_program(int argc, char** argv);

// The words that start this program again, to be followed by a command: its file, unless another program runs it and
// has set them.
std::vector<std::string> own_command();
void set_own_command(std::vector<std::string> command);
// What runs a Python program; "" where the program `ridgeline` itself was started.
std::string own_python();
void set_own_python(std::string interpreter);

}  // namespace ridgeline::cli
