#include "ridgeline/cli/program.h"
#include "ridgeline/core/threads.h"

int main(int argc, char** argv) {
  ridgeline::settle_wait_policy(argv);
  return ridgeline::cli::run_program(argc, argv);
}
