#include "ridgeline/device/cpu/loop/chain.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ridgeline/graph/loop/text.h"

namespace ridgeline::device {
namespace {

// As many f32 vectors as the expression has operands, and results of these types.
LoopProgram program_of(const std::string& text, const std::vector<DType>& operands, const std::vector<DType>& results) {
  const Shape shape{1000};
  std::vector<ValueType> inputs, outputs;
  for (DType t : operands) inputs.push_back({t, shape});
  for (DType t : results) outputs.push_back({t, shape});
  return compile_loop(loop::parse(text), shape, inputs, outputs);
}

std::size_t stores(const Chain& chain) {
  return static_cast<std::size_t>(std::count_if(chain.steps.begin(), chain.steps.end(),
                                                [](const ChainStep& s) { return s.kind == ChainStep::store; }));
}

TEST(LoopChains, ValuesThatOnlyTheNextInstructionReadsAreNotStored) {
  const LoopProgram program = program_of("-(min(abs(max(x0 * 1.5 + 0.25, 0) * x1 - 0.5) + x0, 4) * 0.75)",
                                         {DType::f32, DType::f32}, {DType::f32});
  const std::vector<Chain> chains = find_chains(program);
  ASSERT_EQ(chains.size(), 1u);
  EXPECT_EQ(chains[0].first, 0u);
  EXPECT_EQ(chains[0].end, program.code.size());
  EXPECT_EQ(stores(chains[0]), 1u);
  EXPECT_EQ(chains[0].steps.back().to.place, LoopSlot::result);
}

TEST(LoopChains, AValueThatIsReadLaterIsStoredWhereItIsMade) {
  // t0 is passed directly to sqrt and read again by the last product.
  const LoopProgram program = program_of("t0 = x0 + x1; sqrt(t0) * x1 * t0", {DType::f32, DType::f32}, {DType::f32});
  const std::vector<Chain> chains = find_chains(program);
  ASSERT_EQ(chains.size(), 1u);
  EXPECT_EQ(stores(chains[0]), 2u);
  EXPECT_EQ(chains[0].steps[1].op, LoopOp::add);
  EXPECT_EQ(chains[0].steps[2].kind, ChainStep::store);
}

TEST(LoopChains, EveryResultIsStored) {
  const std::vector<Chain> chains =
      find_chains(program_of("t0 = 0.9 * x1 + x2; x0 - x3 * t0; t0", {DType::f32, DType::f32, DType::f32, DType::f32},
                             {DType::f32, DType::f32}));
  ASSERT_EQ(chains.size(), 1u);
  EXPECT_EQ(stores(chains[0]), 2u);
}

TEST(LoopChains, ConversionsAreTheirEnds) {
  const std::vector<Chain> chains = find_chains(program_of("x0 * 2.0 : bf16", {DType::bf16}, {DType::bf16}));
  ASSERT_EQ(chains.size(), 1u);
  ASSERT_EQ(chains[0].steps.size(), 3u);
  EXPECT_EQ(chains[0].steps[0].op, LoopOp::load_bf16);
  EXPECT_EQ(chains[0].steps[2].op, LoopOp::store_bf16);
}

TEST(LoopChains, SumsAndRandomNumbersStayInstructionsOfTheirOwn) {
  const LoopProgram program = program_of("sum(abs(x0 * x1))", {DType::f32, DType::f32}, {DType::f32});
  const std::vector<Chain> chains = find_chains(program);
  ASSERT_EQ(chains.size(), 1u);
  EXPECT_EQ(chains[0].end, program.code.size() - 1);
  EXPECT_EQ(program.code.back().op, LoopOp::sum);
  EXPECT_EQ(stores(chains[0]), 1u) << "the sum reads it from memory";
}

TEST(LoopChains, OneInstructionIsNone) {
  EXPECT_TRUE(find_chains(program_of("x0 * x1", {DType::f32, DType::f32}, {DType::f32})).empty());
}

}  // namespace
}  // namespace ridgeline::device
