// A page of docs/ that is generated from a table of the program.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include "tests/support/paths.h"

namespace ridgeline {

// Checks that docs/<file> is `wanted`; with RIDGELINE_UPDATE_DOCS=1, writes it first.
inline void expect_page(const std::string& file, const std::string& wanted) {
  const std::string path = testing::source_directory() + "/docs/" + file;
  if (const char* update = std::getenv("RIDGELINE_UPDATE_DOCS"); update != nullptr && std::string(update) == "1") {
    std::ofstream(path, std::ios::binary) << wanted;
  }
  std::ifstream page(path, std::ios::binary);
  const std::string found{std::istreambuf_iterator<char>(page), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(found == wanted) << path << " is stale: run this test with RIDGELINE_UPDATE_DOCS=1";
}

}  // namespace ridgeline
