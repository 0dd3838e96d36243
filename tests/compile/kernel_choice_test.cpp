// How f32 is computed, as options of a session say.
#include <gtest/gtest.h>

#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

Graph layer() {
  return parse_graph(
      "graph @layer(%x: f32[2,12,12,64], %w: param f32[64,3,3,64]) {\n"
      "  %0 = conv2d(%x, %w) {pad=[1,1,1,1]} : f32[2,12,12,64]\n"
      "  return %0 \"y\"\n}\n");
}

std::string kernel_of(const SessionOptions& options) {
  Session session(options);
  const auto program = compile(layer(), session);
  std::string lines;
  for (const std::string& line : program->warnings()) lines += "; " + line;
  for (const LaunchReport& launch : program->launches()) {
    if (launch.op == "conv2d") return launch.kernel + lines;
  }
  return "none";
}

TEST(KernelChoice, ThreeProductsComputeWhereTheyAreAskedForAndTheProgramSaysSo) {
  if (device::active_isa() != device::Isa::amx) GTEST_SKIP() << "this machine has no tiles";
  EXPECT_EQ(kernel_of({}).find("bf16x3"), std::string::npos);
  EXPECT_EQ(kernel_of({.promise = {.bf16x3 = true}}),
            "own conv2d amx bf16x3; 1 f32 ops multiply by three products of bf16 halves: fp32_compute is bf16x3");
  Session session({.promise = {.bf16x3 = true}});
  expect_equals_reference(layer(), session);
}

}  // namespace
}  // namespace ridgeline
