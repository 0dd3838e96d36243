#include "ridgeline/comm/model/cluster.h"

#include <fmt/format.h>

#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"

namespace ridgeline::comm {
namespace {

// Bytes a second: NVLink 4 of an H200 has 18 links of 25 GB/s in each direction (NVIDIA H200 data sheet: 900 GB/s both
// ways together). A port of NDR InfiniBand has 400 Gb/s, and a DGX H200 has one for each of its 8 GPUs (NVIDIA DGX H200
// data sheet). Ethernet: IEEE 802.3ba (100 Gb/s), 802.3by (25 Gb/s).
constexpr double kNvlink4 = 450e9, kNdrPort = 50e9, kEthernet100 = 12.5e9, kEthernet25 = 3.125e9;

// Seconds: NCCL's own model of rings by its protocol for large messages ("Simple"; src/graph/tuning.cc of NCCL 2.19): a
// collective 8.4 us, a step over NVLink 3.4 us, over a network 14 us.
constexpr double kCall = 8.4e-6, kNvlinkStep = 3.4e-6, kNetworkStep = 14e-6;

constexpr char kRates[] = "data sheets of NVIDIA H200 and DGX H200; steps: NCCL 2.19, src/graph/tuning.cc";
constexpr char kEthernetRates[] =
    "NVIDIA H200 data sheet, IEEE 802.3ba/by; steps: NCCL 2.19, src/graph/tuning.cc (RDMA; TCP takes longer)";

Cluster h200(std::string name, int nodes, std::string network, double bytes_per_second, const char* source) {
  Cluster cluster{.name = std::move(name),
                  .links = "NVLink 4 at 450 GB/s",
                  .source = source,
                  .nodes = nodes,
                  .ranks_per_node = 8,
                  .inside = {kNvlink4, kNvlinkStep},
                  .between = {bytes_per_second, kNetworkStep},
                  .call_seconds = kCall};
  if (nodes > 1) cluster.links += fmt::format(", between nodes {}", network);
  return cluster;
}

}  // namespace

std::span<const Cluster> cluster_table() {
  static const std::vector<Cluster> table{
      h200("h200x8", 1, "", kNvlink4, kRates),
      h200("h200x8_ib_64", 64, "8 ports of NDR InfiniBand, 400 GB/s", 8 * kNdrPort, kRates),
      h200("h200x8_ib_1024", 1024, "8 ports of NDR InfiniBand, 400 GB/s", 8 * kNdrPort, kRates),
      h200("h200x8_ethernet_64", 64, "one 100 Gb/s Ethernet, 12.5 GB/s", kEthernet100, kEthernetRates),
      h200("h200x8_ethernet_1024", 1024, "one 100 Gb/s Ethernet, 12.5 GB/s", kEthernet100, kEthernetRates),
      {.name = "cpu_ethernet_64",
       .links = "one rank a node, 25 Gb/s Ethernet, 3.1 GB/s",
       .source = kEthernetRates,
       .nodes = 64,
       .ranks_per_node = 1,
       .inside = {kEthernet25, kNetworkStep},
       .between = {kEthernet25, kNetworkStep},
       .call_seconds = kCall},
  };
  return table;
}

const Cluster& cluster_named(std::string_view name) {
  std::string names;
  for (const Cluster& cluster : cluster_table()) {
    if (cluster.name == name) return cluster;
    names += (names.empty() ? "" : ", ") + cluster.name;
  }
  throw Error(fmt::format("unknown cluster '{}' (allowed: {})", printable(std::string(name)), names), ErrorKind::usage);
}

}  // namespace ridgeline::comm
