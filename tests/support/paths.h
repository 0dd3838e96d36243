// tests/support/paths.h
//
// Where the checkout and the built programs are. Paths are compiled into paths.cpp alone, so that a compiler cache
// serves all checkouts.
#pragma once

#include <string>

namespace ridgeline::testing {

std::string source_directory();    // of the checkout
std::string program();             // the path of `ridgeline`
std::string examples_directory();  // where the programs of examples/ are built

}  // namespace ridgeline::testing
