// ridgeline/cli/program.h
//
// The program `ridgeline`: finds the command, runs it, and turns what goes wrong into one line and an exit code: 2 for
// a wrong call, 1 for a failure, 130 when interrupted. Once a process; its main thread.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::cli {

// argv[0] is not looked at.
int run_program(int argc, char** argv);

// What starts this program once more, in front of a command: its file, unless another program runs it and has said so.
std::vector<std::string> own_command();
void set_own_command(std::vector<std::string> command);
// What runs a Python program; "" where the program `ridgeline` itself was started.
std::string own_python();
void set_own_python(std::string interpreter);

}  // namespace ridgeline::cli
