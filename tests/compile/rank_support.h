// Shared by tests of exchanges in programs: the group of a session's ranks, numbered tensors, their values.
#pragma once

#include <memory>
#include <vector>

#include "ridgeline/compile/run/session.h"
#include "ridgeline/core/tensor.h"

namespace ridgeline::testing {

// A handle for the test of a communicator that the test harness owns.
inline RankGroups world(comm::Communicator& ranks) {
  return {{"world", std::shared_ptr<comm::Communicator>(&ranks, [](comm::Communicator*) {})}};
}

inline Tensor numbers(const Shape& shape, double first, double step = 1) {
  Tensor t(DType::f32, shape);
  for (std::int64_t i = 0; i < t.elements(); ++i) t.set(i, first + step * static_cast<double>(i));
  return t;
}

inline std::vector<double> values(const Tensor& t) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < t.elements(); ++i) all.push_back(t.at(i));
  return all;
}

}  // namespace ridgeline::testing
