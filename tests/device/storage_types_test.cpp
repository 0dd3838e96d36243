// The types in which a kernel reads and writes its operands, and in which it computes, are columns of the kernel table.
#include <gtest/gtest.h>

#include "tests/device/kernel_testing.h"

namespace ridgeline {
namespace {

// "" or the message with which the op's entry of that name refuses.
std::string refusal_of(const Problem& problem, std::string_view entry_name) {
  const Node node = problem.node();
  for (const KernelEntry& entry : cpu_kernels(problem.op)) {
    if (entry.name != entry_name) continue;
    const KernelChoice choice = entry.make(problem.request(node));
    const auto* refusal = std::get_if<Refusal>(&choice);
    return refusal ? refusal->reason : "";
  }
  return "no such entry";
}

Problem sum_of(DType dtype) {
  return {"add", {as_type(random_tensor({40}, 1, -9, 9), dtype), as_type(random_tensor({40}, 2, -9, 9), dtype)}, {}};
}

TEST(StorageTypes, TheLoopInterpreterTakesHalvesAndRefusesWiderArithmetic) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16})
    EXPECT_EQ(refusal_of(sum_of(dtype), "loop_interpreter"), "");
  EXPECT_EQ(refusal_of(sum_of(DType::f64), "loop_interpreter"), "f64 operand: this kernel takes f32, bf16, f16");
  EXPECT_EQ(refusal_of(sum_of(DType::i32), "loop_interpreter"),
            "the op computes in f64 on these types, this kernel in f32");
  for (DType dtype : {DType::f64, DType::i32, DType::i64, DType::bf16}) {
    EXPECT_EQ(refusal_of(sum_of(dtype), "reference"), "");
  }
}

TEST(StorageTypes, AConvolutionOverF16IsEmulatedAndTheLibraryRefusesWithItsReason) {
  Problem problem{"conv2d", {random_tensor({1, 5, 5, 3}, 3), random_tensor({4, 3, 3, 3}, 4)}, {}};
  const Tensor wide = problem.reference()[0];
  for (Tensor& t : problem.inputs) t = as_type(t, DType::f16);
  EXPECT_EQ(refusal_of(problem, "onednn"),
            has_library() ? "f16 operand: this kernel takes f32, bf16" : "no such entry");
  EXPECT_EQ(refusal_of(problem, "widened"), "");
  const Tensor narrow = problem.reference()[0];
  ASSERT_EQ(narrow.dtype(), DType::f16);
  for (std::int64_t i = 0; i < wide.elements(); ++i) EXPECT_NEAR(narrow.at(i), wide.at(i), 0.01);
}

TEST(StorageTypes, KernelsThatMoveElementsTakeEveryType) {
  for (DType dtype : {DType::f64, DType::bf16, DType::f16, DType::i32}) {
    const Problem problem{"transpose",
                          {as_type(random_tensor({6, 5}, 5, -9, 9), dtype)},
                          {{"permutation", std::vector<std::int64_t>{1, 0}}}};
    EXPECT_EQ(refusal_of(problem, "own"), "");
  }
}

}  // namespace
}  // namespace ridgeline
