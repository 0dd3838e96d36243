// Faulty graphs are reduced, and the written files can be read.
#include "tests/compile/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/pass/inline.h"
#include "tests/compile/random_graph.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

using testing::GraphCase;

// Imitates a fault in every convolution whose result a relu reads, if the program computes it at all.
bool shows(const GraphCase& c) {
  Graph flat = inline_calls(c.graph);
  remove_dead_nodes(flat);
  const std::vector<int> producer = producers(flat);
  return std::any_of(flat.nodes.begin(), flat.nodes.end(), [&](const Node& node) {
    if (node.op != "relu") return false;
    const int from = producer[static_cast<std::size_t>(node.inputs[0])];
    return from >= 0 && flat.nodes[static_cast<std::size_t>(from)].op == "conv2d";
  });
}

TEST(Shrink, LeavesOnlyWhatShowsTheFault) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 60 && found < 3; ++seed) {
    const testing::RandomStep step = testing::random_step(seed);
    const GraphCase whole{step.train, step.arguments};
    if (!shows(whole)) continue;
    ++found;
    const GraphCase small = testing::shrink(whole, shows);
    EXPECT_TRUE(shows(small));
    EXPECT_EQ(small.graph.nodes.size(), 2u) << to_text(small.graph);
    EXPECT_EQ(small.graph.returns.size() + small.graph.updates.size(), 1u) << to_text(small.graph);
    EXPECT_LE(small.graph.arguments.size(), 3u) << "image, weights and perhaps a bias";
    EXPECT_NO_THROW(evaluate(small.graph, small.arguments));
  }
  EXPECT_EQ(found, 3) << "some random graphs have a convolution before a relu";
}

TEST(Shrink, WritesATextTestWithItsValues) {
  const testing::RandomStep step = testing::random_step(3);
  ::setenv("RIDGELINE_FAILURES", (testing::temporary_directory() + "/failures").c_str(), 1);
  const std::string command = testing::write_case({step.train, step.arguments}, "case", "two\nlines");
  ::unsetenv("RIDGELINE_FAILURES");
  const std::string path = testing::temporary_directory() + "/failures/case";
  EXPECT_EQ(command, "ridgeline graph run " + path + ".rdg --inputs=" + path + ".safetensors --reference");
  const std::string text = read_file(path + ".rdg");
  EXPECT_TRUE(text.starts_with("# two\n# lines\n")) << text;
  EXPECT_EQ(to_text(parse_graph(text)), to_text(step.train, {.locations = false}));
  const SafetensorsFile file(path + ".safetensors");
  EXPECT_EQ(file.tensors().size(), step.train.arguments.size());
}

}  // namespace
}  // namespace ridgeline
