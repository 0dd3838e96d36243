// tests/device/cuda/dense_updates.h
//
// Random updates of dense weights that compute their gradient, for whoever can run their texts: g++'s functions, or a
// card.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/loop/update_kernel.h"
#include "tests/device/cuda/node_problem.h"

namespace ridgeline::cuda::testing {

struct UpdateCase {
  NodeProblem problem;
  // All products and their sums are whole numbers, so that every order of sums has the reference's bits.
  bool exact;
};

// A rule of an optimizer with random attributes, copies, bias and squares, over random sizes.
UpdateCase random_update(unsigned seed);
// Every rule in its longest form: under a condition, with a copy, bias and squares.
std::vector<NodeProblem> all_updates();
std::string text_of(const UpdateCase& c);

// An Error with the reason of a refusal.
std::unique_ptr<UpdateKernel> kernel_of(const NodeProblem& update);

// "" where the results are the reference's, bit by bit or within the band of tensor cores; else the first that is not.
std::string unlike_reference(const UpdateCase& c, const std::vector<Tensor>& got);

}  // namespace ridgeline::cuda::testing
