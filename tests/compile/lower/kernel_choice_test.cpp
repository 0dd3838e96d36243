// Session options for f32 arithmetic and the choice of kernels.
#include <gtest/gtest.h>

#include "ridgeline/core/file.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/compile/support.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

using namespace testing;

// Large enough to be chosen by time.
Graph layer() {
  return parse_graph(
      "graph @layer(%x: f32[2,12,12,256], %w: param f32[256,1,1,256]) {\n"
      "  %0 = conv2d(%x, %w) : f32[2,12,12,256]\n"
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
  EXPECT_EQ(kernel_of({.promise = {.fp32_compute = "bf16x3"}}),
            "own conv2d amx bf16x3; 1 f32 ops multiply by three products of bf16 halves: fp32_compute is bf16x3");
  Session session({.promise = {.fp32_compute = "bf16x3"}});
  expect_equals_reference(layer(), session);
}

TEST(KernelChoice, ByTimeIsKeptInAFileAndComputesTheSame) {
  const TempFolder folder;
  const std::string file = folder.file("times.txt");
  const std::string first = kernel_of({.compute_threads = 1, .tune = file});
  const std::string times = read_file(file);
  EXPECT_NE(times.find("1 threads: conv2d"), std::string::npos) << times;
  EXPECT_NE(times.find("\tdirect\t"), std::string::npos) << times;
  EXPECT_EQ(kernel_of({.compute_threads = 1, .tune = file}), first);
  EXPECT_EQ(read_file(file), times);
  Session session({.compute_threads = 1, .tune = file});
  expect_equals_reference(layer(), session);
}

}  // namespace
}  // namespace ridgeline
