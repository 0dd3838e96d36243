// A host device with its own list of kernels and layouts that change values visibly, for tests of layouts, derived
// forms and placement.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/compile/run/session.h"
#include "tests/support/host_device.h"

namespace ridgeline::testing {

// The host's memory and stream; for each op the given entries, then the reference.
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

// "columns": a matrix [K,C] of f32 stored by columns. Two-way.
Layout columns_layout(const ValueType& type);
// "tilted": the same with every element doubled. One-way; tilted_made() counts how often it is made, by plain
// conversions and by kernels.
Layout tilted_layout(const ValueType& type);
int& tilted_made();
// "backwards": all elements in reverse order. Two-way.
Layout backwards_layout(const ValueType& type);

// dense and dense_bwd_data that want tilted weights; a dense that wants them by columns if it can choose.
KernelChoice make_tilted_dense(const KernelRequest& request);
KernelChoice make_tilted_dense_bwd_data(const KernelRequest& request);
KernelChoice make_columns_dense(const KernelRequest& request);
// max_pool that gives its result backwards if the layout is free; avg_pool that reads either layout. Only windows of
// one pixel.
KernelChoice make_backwards_max_pool(const KernelRequest& request);
KernelChoice make_either_avg_pool(const KernelRequest& request);
// Refuses every problem.
KernelChoice make_never(const KernelRequest& request);

}  // namespace ridgeline::testing
