#include "tests/support/paths.h"

namespace ridgeline::testing {

std::string source_directory() { return RIDGELINE_SOURCE_DIR; }
std::string program() { return RIDGELINE_BINARY; }
std::string examples_directory() { return RIDGELINE_EXAMPLES; }

}  // namespace ridgeline::testing
