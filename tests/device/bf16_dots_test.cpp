// The kernels for bf16 layers if the instruction set in force has bf16 dot products and no tiles: dot products if these
// are fast, else f32 kernels on bf16 values.
#include <algorithm>
#include <array>
#include <optional>

#include "ridgeline/device/cpu/kernel_table.h"
#include "ridgeline/device/cpu/library.h"
#include "ridgeline/device/ranked_entries.h"
#include "tile_support.h"

namespace ridgeline {
namespace {

// The lowest instruction set of this machine that has dot products, if any has.
std::optional<device::Isa> isa_with_dots() {
  const auto isas = device::machine_isas();
  const auto first = std::find_if(isas.begin(), isas.end(), device::has_bf16_dots);
  return first == isas.end() ? std::nullopt : std::optional(*first);
}

class ForcedDots {
 public:
  explicit ForcedDots(bool fast) : isa_(device::active_isa()), fast_(device::fast_bf16_dots()) {
    device::force_isa_for_test(isa_with_dots().value());
    device::force_bf16_dots_for_test(fast);
  }
  ~ForcedDots() {
    device::force_isa_for_test(isa_);
    device::force_bf16_dots_for_test(fast_);
  }

 private:
  device::Isa isa_;
  bool fast_;
};

struct Choice {
  std::string entry;
  std::unique_ptr<Kernel> kernel;
};

Choice choice_for(const TileProblem& p) {
  const Node node = p.problem.node();
  KernelRequest request{op_def(p.problem.op), node, {}, {}};
  for (const ValueType& type : p.problem.input_types()) request.inputs.push_back({type, {}, true});
  for (const ValueType& type : p.output_types()) request.outputs.push_back({type, {}, false});
  for (const KernelEntry& entry : by_speed(cpu_kernels(p.problem.op, std::nullopt), request)) {
    KernelChoice choice = entry.make(request);
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&choice))
      return {std::string(entry.name), std::move(*kernel)};
  }
  return {};
}

TileProblem dense_problem(std::size_t pass, std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
  const Tensor x = random_bf16({rows, inputs}, 1), w = random_bf16({outputs, inputs}, 2),
               dy = random_bf16({rows, outputs}, 3);
  if (pass == 0) return {{"dense", {x, w}, {}}, {}, nullptr};
  if (pass == 1) return {{"dense_bwd_data", {dy, w}, {}}, {}, nullptr};
  return {{"dense_bwd_weights", {x, dy}, {}}, {DType::f32}, nullptr};
}

const ConvolutionCase kSingle{{2, 28, 28, 64}, 64, {1, 1}, {0, 0, 0, 0}};
const ConvolutionCase kStrided{{2, 56, 56, 64}, 64, {3, 3}, {1, 1, 1, 1}, {2, 2}};
const ConvolutionCase kStridedSingle{{2, 56, 56, 64}, 64, {1, 1}, {0, 0, 0, 0}, {2, 2}};
const ConvolutionCase kInGroups{{2, 28, 28, 64}, 64, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 4};
const ConvolutionCase kManyTaps{{2, 59, 59, 3}, 64, {11, 11}, {2, 2, 2, 2}, {4, 4}};
const ConvolutionCase kFewTaps{{2, 56, 56, 3}, 64, {7, 7}, {3, 3, 3, 3}, {2, 2}};
const ConvolutionCase kManyChannels{{4, 36, 36, 256}, 256, {3, 3}, {1, 1, 1, 1}};

TEST(Bf16Dots, FastOnesTakeWhatNeitherWinogradNorTheLibraryDoesFaster) {
  if (!isa_with_dots()) GTEST_SKIP() << "this machine has no bf16 dot products";
  const ForcedDots forced(true);
  const std::string library = device::library_kernels().empty() ? "dots" : "onednn";
  const std::array<std::string, 3> single{library, library, "dots"}, strided_single{library, "dots", "dots"};
  for (std::size_t pass = 0; pass < 3; ++pass) {
    SCOPED_TRACE(pass);
    EXPECT_EQ(choice_for(kTilePasses[pass](kSingle)).entry, single[pass]);
    EXPECT_EQ(choice_for(kTilePasses[pass](kStrided)).entry, single[pass]);
    EXPECT_EQ(choice_for(kTilePasses[pass](kStridedSingle)).entry, strided_single[pass]);
    EXPECT_EQ(choice_for(kTilePasses[pass](kInGroups)).entry, "dots");  // not compared with the library
    EXPECT_EQ(choice_for(kTilePasses[pass](kManyChannels)).entry, "winograd");
    EXPECT_EQ(choice_for(dense_problem(pass, 40, 2048, 2048)).entry, "dots");
  }
  // First layers: with many taps, and with few.
  EXPECT_EQ(choice_for(kTilePasses[0](kManyTaps)).entry, "dots");
  EXPECT_EQ(choice_for(kTilePasses[0](kFewTaps)).entry, library);
}

TEST(Bf16Dots, SlowOnesLeaveBf16ToF32KernelsThatReadIt) {
  if (!isa_with_dots()) GTEST_SKIP() << "this machine has no bf16 dot products";
  const ForcedDots forced(false);
  for (std::size_t pass = 0; pass < 3; ++pass) {
    SCOPED_TRACE(pass);
    EXPECT_EQ(choice_for(kTilePasses[pass](kSingle)).entry, "pixels");
    EXPECT_EQ(choice_for(kTilePasses[pass](kStrided)).entry, "pixels");
    EXPECT_EQ(choice_for(kTilePasses[pass](kManyChannels)).entry, "winograd");
    EXPECT_EQ(choice_for(dense_problem(pass, 40, 2048, 2048)).entry, "rows");
    EXPECT_EQ(choice_for(dense_problem(pass, 40, 200, 100)).entry, "rows");
  }
}

}  // namespace
}  // namespace ridgeline
