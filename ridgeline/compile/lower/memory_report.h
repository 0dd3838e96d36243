// ridgeline/compile/lower/memory_report.h
//
// What memory a program takes, in bytes by category. A plain value.
#pragma once

#include <cstddef>
#include <string>

namespace ridgeline {

// Intermediate values with and without reuse of memory whose value is no longer needed.
struct MemoryReport {
  std::size_t parameters = 0;
  std::size_t states = 0;
  std::size_t derived = 0;  // forms of parameters and states, and what is computed of those alone
  std::size_t inputs = 0;
  std::size_t activations = 0;       // the sum over all intermediate values
  std::size_t gradients = 0;         // those of them that differentiation made
  std::size_t activations_peak = 0;  // what the arena takes
  std::size_t scratch = 0;           // the largest launch's workspace
  std::size_t spared = 0;            // what more would be alive at one time, about, if no op ran again
  std::size_t again = 0;             // ops that run again instead of keeping what they give
  std::size_t side_by_side = 0;      // of the arena: what it would not take if launches ran one after the other

  // All that the program takes; the largest number where that does not fit into 63 bits.
  std::size_t total() const;
  std::string to_text() const;
};

}  // namespace ridgeline
