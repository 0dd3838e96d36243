// tests/support/paths.h
//
// The locations of the checkout and of built programs. Paths are compiled only into paths.cpp, so that a compiler cache
// serves all checkouts.
#pragma once

#include <string>

namespace ridgeline::testing {

std::string source_directory();    // of the checkout
std::string program();             // the path of `ridgeline`
std::string examples_directory();  // where the programs of examples/ are built

}  // namespace ridgeline::testing
