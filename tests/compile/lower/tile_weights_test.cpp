// Tile kernels want a bf16 parameter in one-way layouts, one for the forward pass and one for the gradient of the
// image: both must be made from the parameter, again after every update.
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

constexpr const char* kStep =
    "graph @step(%x: bf16[2,5,5,160], %w: param bf16[160,3,3,160], %dy: bf16[2,5,5,160]) {\n"
    "  %0 = conv2d(%x, %w) {activation=\"relu\", pad=[1,1,1,1]} : bf16[2,5,5,160]\n"
    "  %1 = conv2d_bwd_data(%dy, %w) {input=[2,5,5,160], pad=[1,1,1,1]} : bf16[2,5,5,160]\n"
    "  %2 = scale(%w) {factor=0.5} : bf16[160,3,3,160]\n"
    "  update %w = %2\n"
    "  return %0 \"y\", %1 \"dx\"\n"
    "}\n";

TEST(TileWeights, BothFormsFollowTheParameterThroughItsUpdates) {
  const Graph graph = parse_graph(kStep);
  Session session;
  Arguments arguments = testing::random_arguments(graph);
  testing::store_arguments(graph, arguments, session);
  const auto program = compile(graph, session);
  int tiles = 0;
  for (const LaunchReport& launch : program->launches()) tiles += launch.kernel.ends_with(" amx") ? 1 : 0;
  EXPECT_EQ(tiles, device::active_isa() == device::Isa::amx ? 2 : 0);
  testing::bind_inputs(graph, arguments, *program);
  for (int step = 0; step < 3; ++step) {
    const std::vector<Tensor> expected = evaluate_returns(graph, arguments);
    const Arguments next = evaluate_updates(graph, arguments);
    ASSERT_TRUE(program->run());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string& name = graph.returns[i].name;
      testing::expect_close(program->output(name), expected[i], 0x1p-8, name + " in step " + std::to_string(step));
    }
    for (const auto& [name, value] : next) arguments[name] = value;
  }
}

}  // namespace
}  // namespace ridgeline
