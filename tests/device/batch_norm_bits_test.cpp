// Our batch norm gives the same bits however its result is written, also when it is recomputed from the statistics of a
// batch.
#include <cstring>

#include "kernel_testing.h"

namespace ridgeline {
namespace {

std::vector<Tensor> run_own(const Problem& problem) {
  const Node node = problem.node();
  KernelChoice choice = cpu_kernels(problem.op, Provider::own).front().make(problem.request(node));
  return run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
}

// A y of 4 MB or more is written past the caches if its rows are whole vectors; rows of 72 channels are not.
TEST(BatchNormBits, ALargeBatchNormHasTheBitsOfASmallOne) {
  for (const DType type : {DType::f32, DType::bf16}) {
    for (const std::int64_t channels : {64, 72}) {
      const Shape c{channels};
      const std::int64_t rows = (std::int64_t{5} << 20) / channels / static_cast<std::int64_t>(size_of(type));
      Problem problem{
          "batch_norm_eval",
          {as_type(random_tensor({rows, channels}, 1), type), random_tensor(c, 2), random_tensor(c, 3),
           random_tensor(c, 4), random_tensor(c, 5, 0.5, 2), as_type(random_tensor({rows, channels}, 6), type)},
          {{"activation", std::string("relu")}}};
      const Tensor large = run_own(problem)[0];
      for (const std::size_t image : {0u, 5u}) {
        Tensor first(type, {rows / 3, channels});
        std::memcpy(first.raw(), problem.inputs[image].raw(), first.byte_size());
        problem.inputs[image] = first;
      }
      const Tensor small = run_own(problem)[0];
      EXPECT_EQ(std::memcmp(large.raw(), small.raw(), small.byte_size()), 0) << name_of(type) << " " << channels;
    }
  }
}

// The property that OpDef::again promises for the kernels of FusionLimits::again.
TEST(BatchNormBits, ABatchIsNormalisedAgainFromItsStatisticsWithTheSameBits) {
  for (const DType type : {DType::f32, DType::bf16}) {
    for (const Shape& shape : {Shape{3, 5, 7, 19}, Shape{4, 9, 9, 64}, Shape{8, 96, 96, 64}}) {
      for (const bool addend : {false, true}) {
        const Shape c{shape[-1]};
        const Attributes relu{{"activation", std::string(addend ? "relu" : "none")}};
        Problem train{"batch_norm_train",
                      {as_type(random_tensor(shape, 1, -1, 3), type), random_tensor(c, 2), random_tensor(c, 3),
                       random_tensor(c, 4), random_tensor(c, 5, 0.5, 2)},
                      relu};
        if (addend) train.inputs.push_back(as_type(random_tensor(shape, 6), type));
        const std::vector<Tensor> results = run_own(train);
        Problem again{"batch_norm_eval", train.inputs, relu};
        again.inputs[3] = results[1];
        again.inputs[4] = results[2];
        again.attributes.set("var_is_inv_std", true);
        const Tensor y = run_own(again)[0];
        EXPECT_EQ(std::memcmp(y.raw(), results[0].raw(), y.byte_size()), 0)
            << name_of(type) << " " << shape.to_string();
      }
    }
  }
}

// relu6 and its gradient merged into the batch norm, or as separate ops: of_x recomputes what the forward pass stored.
TEST(BatchNormBits, Relu6InABatchNormGivesTheBitsOfTheOpsApart) {
  for (const DType type : {DType::f32, DType::bf16}) {
    for (const Shape& shape : {Shape{3, 5, 7, 19}, Shape{4, 9, 9, 64}, Shape{8, 96, 96, 64}}) {
      for (const bool addend : {false, true}) {
        const Shape c{shape[-1]};
        Problem plain{"batch_norm_train",
                      {as_type(random_tensor(shape, 1, -1, 3), type), random_tensor(c, 2, 2, 8), random_tensor(c, 3),
                       random_tensor(c, 4), random_tensor(c, 5, 0.5, 2)},
                      {}};
        if (addend) plain.inputs.push_back(as_type(random_tensor(shape, 6), type));
        Problem merged = plain;
        merged.attributes.set("activation", std::string("relu6"));
        const std::vector<Tensor> forward = run_own(merged);
        const Tensor y = run_own({"relu6", {run_own(plain)[0]}, {}})[0];
        ASSERT_EQ(std::memcmp(forward[0].raw(), y.raw(), y.byte_size()), 0)
            << name_of(type) << " " << shape.to_string();

        const Tensor dy = as_type(random_tensor(shape, 7), type);
        const Tensor gated = run_own({"relu6_grad", {y, dy}, {}})[0];
        const std::vector<Tensor> of{merged.inputs[0], dy, merged.inputs[1], forward[1], forward[2]};
        Problem backward{"batch_norm_bwd", of, {}};
        backward.inputs[1] = gated;
        const std::vector<Tensor> apart = run_own(backward);
        for (const std::string gate : {"of_x", "of_y"}) {
          if (gate == "of_x" && addend) continue;
          Problem through{"batch_norm_bwd", of, {{"gate", gate}, {"ceiling", 6.0}}};
          through.inputs.push_back(gate == "of_x" ? merged.inputs[2] : y);
          const std::vector<Tensor> got = run_own(through);
          for (std::size_t r = 0; r < apart.size(); ++r) {
            EXPECT_EQ(std::memcmp(got[r].raw(), apart[r].raw(), apart[r].byte_size()), 0)
                << gate << " " << name_of(type) << " " << shape.to_string() << " result " << r;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline
