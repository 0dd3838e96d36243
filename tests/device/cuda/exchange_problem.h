// tests/device/cuda/exchange_problem.h
//
// An exchange between ranks as a program has it for one of them, and its values. For tests and for the check on cards.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/device/collective_kernel.h"
#include "ridgeline/graph/op/collective.h"

namespace ridgeline::cuda::testing {

// One exchange, as a program has it for a rank: a node, its types, and memory.
struct ExchangeProblem {
  Node start;
  const CollectiveRule& rule;
  std::vector<ValueType> operands;
  std::vector<std::size_t> bytes;
  ValueType pending;
  std::size_t pending_bytes = 0;

  ExchangeProblem(const CollectiveRule& of, DType type, std::int64_t elements, Attributes attributes, int ranks)
      : rule(of) {
    attributes.set("ranks", std::int64_t{ranks});
    Node whole;
    whole.op = std::string(rule.name);
    whole.attributes = complete_attributes(op_def(rule.name), attributes);
    start.op = "collective_start";
    start.name = whole.op;
    start.attributes = start_attributes(whole);
    operands = {{type, {elements}}};
    bytes = {operands[0].bytes()};
    pending = infer_types(op_def(start.op), operands, start.attributes, start.name)[0];
    pending_bytes = pending.bytes();
  }
  CollectiveRequest request(comm::Communicator& ranks) const {
    return {start, ranks, operands, bytes, pending, pending_bytes};
  }
};

// What an exchange makes of the same values, by the CPU's kernel and by these steps.
struct ExchangeValues {
  std::vector<std::byte> operand, result;

  ExchangeValues(const ExchangeProblem& problem, int rank, unsigned seed)
      : operand(problem.bytes[0]), result(problem.pending_bytes, std::byte{0x5a}) {
    std::mt19937 random(seed + 977 * static_cast<unsigned>(rank));
    const DType type = problem.pending.dtype;
    auto& filled = problem.rule.packed ? result : operand;
    Tensor view = Tensor::view(filled.data(), type, {static_cast<std::int64_t>(filled.size() / size_of(type))});
    for (std::int64_t i = 0; i < view.elements(); ++i)
      view.set(i, std::ldexp(static_cast<double>(random() % 4001) - 2000, static_cast<int>(random() % 9) - 12));
  }
  void run_on_cpu(const ExchangeProblem& problem, comm::Communicator& ranks) {
    void* const inputs[] = {operand.data()};
    void* const outputs[] = {result.data()};
    make_collective_kernel(problem.request(ranks))->run({inputs, outputs, nullptr});
  }
};

}  // namespace ridgeline::cuda::testing
