// A returned reshape shares the memory of its operand, and once had its shape.
#include <gtest/gtest.h>

#include "ridgeline/graph/ir/text.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

TEST(ReturnedView, HasItsOwnShape) {
  const Graph graph = parse_graph(
      "graph @g(%x: f32[2,3]) {\n"
      "  %0 = exp(%x) : f32[2,3]\n"
      "  %1 = reshape(%0) {shape=[6]} : f32[6]\n"
      "  return %0 \"rows\", %1 \"flat\"\n"
      "}\n");
  for (const char* device : {"cpu", "simulated"}) {
    SessionOptions options;
    options.device = device;
    Session session(options);
    testing::expect_equals_reference(graph, session);
  }
}

}  // namespace
}  // namespace ridgeline
