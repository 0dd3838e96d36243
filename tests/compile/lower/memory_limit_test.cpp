// Programs that do not fit into memory are refused before anything is allocated, with the needed bytes by purpose and
// the available bytes.
#include <gtest/gtest.h>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/memory.h"
#include "ridgeline/graph/ir/builder.h"

namespace ridgeline {
namespace {

std::string refusal_of(const Graph& graph, Session& session) {
  try {
    compile(graph, session);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& message, const std::string& words) { return message.find(words) != std::string::npos; }

// The number of f32 that fill `share` of the memory.
std::int64_t floats(double share) {
  return static_cast<std::int64_t>(share * static_cast<double>(available_memory()) / 4);
}

TEST(MemoryLimit, ParametersThatCannotFitAreRefusedBeforeTheyAreMade) {
  GraphBuilder b("huge_parameters");
  const Value w = b.param("w", {DType::f32, {floats(0.6)}});
  const Value slot = b.state("slot", {DType::f32, {floats(0.6)}});
  b.update(w, w + slot);
  Session session;
  const std::string message = refusal_of(b.finish(), session);
  EXPECT_TRUE(says(message, "[memory] the program needs ")) << message;
  EXPECT_TRUE(says(message, "(parameters ")) << message;
  EXPECT_TRUE(says(message, ", states ")) << message;
  EXPECT_TRUE(says(message, "this process may use " + byte_text(available_memory()))) << message;
  EXPECT_FALSE(session.parameters().contains("w"));
}

TEST(MemoryLimit, AValueThatCannotFitIsNamedWithItsOpAndLine) {
  GraphBuilder b("huge_value");
  const Value x = b.input("x", {DType::f32, {1, 1}});
  b.returns("y", b.apply("broadcast_to", {x}, {{"shape", std::vector<std::int64_t>{floats(1.5), 1}}}));
  Session session;
  const std::string message = refusal_of(b.finish(), session);
  EXPECT_TRUE(says(message, "broadcast_to")) << message;
  EXPECT_TRUE(says(message, "memory_limit_test.cpp")) << message;
}

TEST(MemoryLimit, ValuesThatFitAloneButNotTogetherAreRefusedByThePlan) {
  GraphBuilder b("huge_plan");
  const Value x = b.input("x", {DType::f32, {1, 1}});
  const std::vector<std::int64_t> shape{floats(0.6), 1};
  b.returns("y", b.apply("broadcast_to", {x}, {{"shape", shape}}));
  b.returns("z", b.apply("broadcast_to", {b.apply("exp", {x})}, {{"shape", shape}}));
  Session session;
  const std::string message = refusal_of(b.finish(), session);
  EXPECT_TRUE(says(message, "intermediate values ")) << message;
}

TEST(MemoryLimit, AValueThatFusionNeverMakesIsNoReason) {
  GraphBuilder b("huge_but_fused");
  const Value x = b.input("x", {DType::f32, {floats(0.7)}});
  b.returns("y", b.apply("reduce_sum", {b.apply("exp", {x})}));
  Session session;
  EXPECT_EQ(refusal_of(b.finish(), session), "");
}

TEST(MemoryLimit, SizesBeyondAnyMemoryAreRefusedWhenTheGraphIsBuilt) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  GraphBuilder b("beyond");
  EXPECT_THROW(b.input("images", {DType::u8, {1, most, most, 3}}), Error);
  EXPECT_THROW(b.param("w", {DType::f32, {most}}), Error);
  const Value x = b.input("x", {DType::f32, {1, 4, 4, 1}});
  EXPECT_THROW(b.apply("broadcast_to", {x}, {{"shape", std::vector<std::int64_t>{most, 4, 4, 1}}}), Error);
  EXPECT_THROW(b.apply("reshape", {x}, {{"shape", std::vector<std::int64_t>{most, 4}}}), Error);
  EXPECT_THROW(
      b.apply("pad", {x},
              {{"low", std::vector<std::int64_t>{most, 0, 0, 0}}, {"high", std::vector<std::int64_t>{most, 0, 0, 0}}}),
      Error);
  const Value w = b.input("kernel", {DType::f32, {1, 1, 1, 1}});
  EXPECT_THROW(b.apply("conv2d", {x, w}, {{"pad", std::vector<std::int64_t>{most, most, 0, 0}}}), Error);
}

}  // namespace
}  // namespace ridgeline
