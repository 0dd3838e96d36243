#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "ridgeline/graph/op/describe.h"

namespace ridgeline {
namespace {

TEST(OpDocs, ThePageIsMadeFromTheDefinitions) {
  const std::string path = std::string(RIDGELINE_SOURCE_DIR) + "/docs/ops.md";
  const std::string wanted = describe_ops();
  if (const char* update = std::getenv("RIDGELINE_UPDATE_DOCS"); update != nullptr && std::string(update) == "1") {
    std::ofstream(path, std::ios::binary) << wanted;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string found{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(found == wanted) << path << " is stale: run this test with RIDGELINE_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace ridgeline
