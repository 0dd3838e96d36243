// One launch that updates several parameters gives the bits of separate updates.
#include "kernel_testing.h"
#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

TEST(UpdateGroup, GivesTheBitsOfTheUpdatesApart) {
  const std::vector<Shape> shapes = {{7}, {64}, {1000}, {20000}};
  const Tensor rate = random_tensor({}, 9);
  Problem group{"update_group", {}, {{"expression", std::string("x0 - x3 * (x1 * 0.9 + x2); x1 * 0.9 + x2")}}};
  std::vector<Tensor> gradients, apart;
  for (std::size_t p = 0; p < shapes.size(); ++p) {
    const Tensor w = random_tensor(shapes[p], p), m = random_tensor(shapes[p], 10 + p);
    gradients.push_back(random_tensor(shapes[p], 20 + p));
    group.inputs.push_back(w);
    group.inputs.push_back(m);
    Problem one{"loop", {w, m, gradients.back(), rate}, group.attributes};
    for (const Tensor& next : one.reference()) apart.push_back(next);
  }
  group.inputs.insert(group.inputs.end(), gradients.begin(), gradients.end());
  group.inputs.push_back(rate);
  const Node node = group.node();
  KernelChoice choice = cpu_kernels("update_group", Provider::own).front().make(group.request(node));
  Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(choice);
  for (std::size_t i = 0; i < kernel.in_place.size(); ++i) EXPECT_EQ(kernel.in_place[i], static_cast<int>(i));
  const std::vector<Tensor> together = run_kernel(kernel, group);
  ASSERT_EQ(together.size(), apart.size());
  for (std::size_t i = 0; i < apart.size(); ++i) EXPECT_TRUE(same_bits(together[i], apart[i])) << "result " << i;
}

TEST(UpdateGroup, RefusesOperandsThatFitNoNumberOfParameters) {
  const Problem problem{"update_group",
                        {random_tensor({3}, 1), random_tensor({3}, 2), random_tensor({3}, 3), random_tensor({}, 4)},
                        {{"expression", std::string("x0 - x2 * x1")}}};
  EXPECT_THROW(problem.output_types(), Error);
}

}  // namespace
}  // namespace ridgeline
