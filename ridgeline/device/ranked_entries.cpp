#include "ridgeline/device/ranked_entries.h"

#include <algorithm>
#include <cstdio>

#include "ridgeline/device/device.h"

namespace ridgeline {
namespace {

// What the op's multiply-adds and bytes take at the device's rates, one after the other.
double seconds_at_rates(const KernelRequest& request, const DeviceRates& rates) {
  std::vector<ValueType> inputs, outputs;
  double bytes = 0;
  for (const KernelOperand& operand : request.inputs) inputs.push_back(operand.type);
  for (const KernelOperand& result : request.outputs) outputs.push_back(result.type);
  for (const std::vector<ValueType>* types : {&inputs, &outputs}) {
    for (const ValueType& type : *types) bytes += static_cast<double>(type.bytes());
  }
  Cost cost{0, bytes};
  if (request.def.cost) cost = request.def.cost({inputs, request.node.attributes, request.node.name}, outputs);
  return cost.flops / rates.f32_flops + cost.bytes / rates.memory_bytes;
}

}  // namespace

std::vector<KernelEntry> by_speed(std::vector<KernelEntry> entries, const KernelRequest& request) {
  std::stable_sort(entries.begin(), entries.end(), [&](const KernelEntry& a, const KernelEntry& b) {
    return a.asked_for != b.asked_for ? a.asked_for : a.speed_at(request) > b.speed_at(request);
  });
  return entries;
}

std::vector<RankedEntry> ranked_entries(const KernelRequest& request, const Device& device) {
  const DeviceRates rates = device.rates();
  const double seconds = seconds_at_rates(request, rates);
  std::vector<RankedEntry> ranked;
  for (const KernelEntry& entry : by_speed(device.kernels(request.node.op), request))
    ranked.push_back({entry, rates.launch_seconds + seconds / entry.speed_at(request)});
  return ranked;
}

std::string to_text(const std::vector<RankedEntry>& ranked) {
  std::string text;
  for (const RankedEntry& one : ranked) {
    char milliseconds[32];
    std::snprintf(milliseconds, sizeof milliseconds, " %.3g ms", one.seconds * 1e3);
    text += (text.empty() ? "" : ", ") + std::string(one.entry.name) + milliseconds;
  }
  return text;
}

}  // namespace ridgeline
