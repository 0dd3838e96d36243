// Loops that read and write bf16 and f16: rounding inside them and at their results, and results that overwrite
// operands.
#include <gtest/gtest.h>

#include <bit>

#include "ridgeline/core/random.h"
#include "ridgeline/device/cpu/isa.h"
#include "tests/device/loop_support.h"

namespace ridgeline::device {
namespace {

class NarrowLoops : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { force_isa_for_test(GetParam()); }
  void TearDown() override { force_isa_for_test(before_); }

 private:
  Isa before_ = active_isa();
};
INSTANTIATE_TEST_SUITE_P(Isa, NarrowLoops, testing::ValuesIn(loop_isas()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// Random bits: all magnitudes, both infinities, NaNs, subnormal f16 numbers.
Tensor any_floats(std::int64_t count) {
  Tensor t(DType::f32, {count});
  SampleRandom random(philox_key(11, "any floats"), 0, 0);
  for (std::int64_t i = 0; i < count; ++i) {
    auto bits = static_cast<std::uint32_t>(random.integer(0, 0xffffffff));
    if (i % 3 == 0) bits = (bits & 0x8fffffffu) | 0x38000000u;  // around the smallest f16 numbers
    if (i % 3 == 1) bits = (bits & 0x87ffffffu) | 0x40000000u;  // around the largest
    t.data<float>()[i] = std::bit_cast<float>(bits);
  }
  return t;
}

TEST_P(NarrowLoops, RoundingIsThatOfTheScalarConversionsBitByBit) {
  const Tensor x = any_floats(100'003);
  for (const DType type : {DType::bf16, DType::f16}) {
    const std::string name(name_of(type));
    const LoopRun stored = run_kernel("cast", {x}, {{"to", type}});
    EXPECT_EQ(stored.refusal, "");
    EXPECT_EQ(first_difference(stored.results[0], run_reference_of("cast", {x}, {{"to", type}})[0]), "") << name;
    const Attributes rounded{{"expression", name + "(x0)"}};
    EXPECT_EQ(first_difference(run_kernel("loop", {x}, rounded).results[0], run_reference_of("loop", {x}, rounded)[0]),
              "");
    const LoopRun read = run_kernel("cast", {stored.results[0]}, {{"to", DType::f32}});
    EXPECT_EQ(first_difference(read.results[0], run_reference_of("cast", {stored.results[0]}, {{"to", DType::f32}})[0]),
              "");
    EXPECT_EQ(first_difference(read.results[0], run_reference_of("loop", {x}, rounded)[0]), "")
        << "storing rounds alike";
  }
}

TEST_P(NarrowLoops, ResultsOfSeveralTypesAreThoseOfTheReferenceInPlaceOrNot) {
  const char* const expressions[] = {
      "x0 + x1 : bf16",
      "max(bf16(x0 + x1), 0) : bf16; x0 * x2 : bf16; x2 - x0",
      "x2 * 0.5; x0 : f16; f16(x1 * x2) + x0 : f16",
      "t0 = bf16(x0 * x1); select(0 < t0, t0, x2) : f16; t0 : bf16; sum(t0)",
      "x0 : bf16; x1 : bf16",
  };
  for (const std::int64_t count : {1, 63, 5000, 70'001}) {
    for (const DType type : {DType::bf16, DType::f16}) {
      const std::vector<Tensor> inputs = {mixed_tensor(type, {count}, 1), mixed_tensor(type, {count}, 2),
                                          mixed_tensor(DType::f32, {count}, 3)};
      for (const char* expression : expressions) {
        SCOPED_TRACE(std::string(expression) + " over " + std::to_string(count) + " of " + std::string(name_of(type)));
        const Attributes attributes{{"expression", std::string(expression)}};
        const std::vector<Tensor> expected = run_reference_of("loop", inputs, attributes);
        for (const bool in_place : {false, true}) {
          const LoopRun got = run_kernel("loop", inputs, attributes, in_place);
          ASSERT_EQ(got.refusal, "");
          for (std::size_t r = 0; r < expected.size(); ++r) {
            if (expected[r].elements() == 1 && count > 1) continue;  // a sum, added in another order
            EXPECT_EQ(first_difference(got.results[r], expected[r]), "") << "result " << r << " in place " << in_place;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::device
