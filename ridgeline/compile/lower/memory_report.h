// ridgeline/compile/lower/memory_report.h
//
// What memory a program takes, in bytes by category. A plain value.
#pragma once

#include <cstddef>
#include <string>

namespace ridgeline {

// Gives intermediate values with and without reuse of memory.
struct MemoryReport {
  std::size_t parameters = 0;
  std::size_t states = 0;
  std::size_t derived = 0;  // derived forms of parameters and states, and constants computed from these
  std::size_t inputs = 0;
  std::size_t activations = 0;       // the sum over all intermediate values
  std::size_t gradients = 0;         // the gradients among them
  std::size_t activations_peak = 0;  // the size of the arena
  std::size_t scratch = 0;           // the largest launch's workspace
  std::size_t spared = 0;            // about how much more would be alive at one time without recomputation
  std::size_t again = 0;             // ops that recompute values instead of keeping them
  std::size_t side_by_side = 0;      // share of the arena that is only needed because launches run side by side

  // All memory of the program; the largest number if that does not fit into 63 bits.
  std::size_t total() const;
  std::string to_text() const;
};

}  // namespace ridgeline
