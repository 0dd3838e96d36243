// ridgeline/device/cuda/table/defined_kernel.h
//
// Where there is no card, what a card runs as a text compiled at run time: the op's definition, whose results the text
// has (its tests compare them). Only for files of the table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/device/kernel.h"

namespace ridgeline::cuda {

std::vector<ValueType> types_of(const std::vector<KernelOperand>& operands);

class DefinedKernel final : public Kernel {
 public:
  // Results may overwrite operands of their number and type.
  DefinedKernel(const KernelRequest& request, std::string_view of);
  void run(const KernelArguments& arguments) override;

 private:
  void compute(std::span<void* const> addresses) const;

  Node node_;
  std::vector<ValueType> inputs_, outputs_;
};

}  // namespace ridgeline::cuda
