// A device of the host with a kernel list of its own, and layouts that do something visible: what the tests of layouts,
// derived forms and placement build on.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/compile/run/session.h"
#include "tests/support/host_device.h"

namespace ridgeline::testing {

// The host's memory and stream; for each op the given entries and then the reference.
class ListDevice final : public HostDevice {
 public:
  // `side_by_side`: whether the entries' kernels may run at the same time.
  explicit ListDevice(std::vector<KernelEntry> entries, FusionLimits limits = {}, bool side_by_side = false)
      : entries_(std::move(entries)), limits_(std::move(limits)), side_by_side_(side_by_side) {}
  std::string_view name() const override { return "list"; }
  bool side_by_side() const override { return side_by_side_; }
  std::vector<KernelEntry> kernels(std::string_view op) const override;
  FusionLimits fusion_limits() const override { return limits_; }

 private:
  std::vector<KernelEntry> entries_;
  FusionLimits limits_;
  bool side_by_side_;
};

// A session on such a device.
SessionOptions on_list_device(std::vector<KernelEntry> entries, FusionLimits limits = {});

// "columns": a matrix [K,C] of f32 column by column. Two-way.
Layout columns_layout(const ValueType& type);
// "tilted": the same with every element doubled. One-way; making it counts in tilted_made(), by plain conversions and
// by kernels alike.
Layout tilted_layout(const ValueType& type);
int& tilted_made();
// "backwards": all elements from the last to the first. Two-way.
Layout backwards_layout(const ValueType& type);

// dense and dense_bwd_data that want the weights tilted; a dense that wants them as columns where it may choose.
KernelChoice make_tilted_dense(const KernelRequest& request);
KernelChoice make_tilted_dense_bwd_data(const KernelRequest& request);
KernelChoice make_columns_dense(const KernelRequest& request);
// max_pool that gives its result backwards where that is free; avg_pool that reads it backwards or plain, as it lies.
// Only windows of one pixel.
KernelChoice make_backwards_max_pool(const KernelRequest& request);
KernelChoice make_either_avg_pool(const KernelRequest& request);
// Refuses everything.
KernelChoice make_never(const KernelRequest& request);

}  // namespace ridgeline::testing
