// ridgeline/comm/model/all_reduce_cost.h
//
// Seconds of an all-reduce by the latency and bandwidth of the links: n bytes, p ranks, m nodes of k ranks, a link with
// a seconds a message and b bytes a second.
#pragma once

#include <cstdint>
#include <string_view>

#include "ridgeline/comm/model/cluster.h"

namespace ridgeline::comm {

enum class ReduceAlgorithm : std::uint8_t { ring, double_tree, by_node };
std::string_view name_of(ReduceAlgorithm algorithm);

// A reduce-scatter and an all-gather around a ring: 2 (p-1) a + 2 (p-1)/p n/b, the least bytes that a rank can send.
// Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009. The ring enters
// each node once, so 2 m of the steps (0 for one node) go over the network, and the slower of the two links bounds the
// bytes.
double ring_seconds(const Cluster& cluster, double bytes);

// Two pipelined binary trees, in one of which each rank is a leaf: 2 n/b + 2 log2(m) a between nodes, after 2 (k-1)
// steps along each node's chain. Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast,
// reduction and scan", 2009; the chain is how NCCL builds its trees.
double double_tree_seconds(const Cluster& cluster, double bytes);

// Reduce-scatter within each node, a ring over the nodes for each shard, all-gather within each node: 2 (k-1) a_in + 2
// (k-1)/k n/b_in + 2 (m-1) a_out + 2 (m-1)/m n/b_out. Thakur, Rabenseifner and Gropp, "Optimization of collective
// communication operations in MPICH", 2005, gives the costs of these.
double by_node_seconds(const Cluster& cluster, double bytes);

struct ReduceCost {
  double seconds = 0;
  ReduceAlgorithm algorithm = ReduceAlgorithm::ring;
};
// The fastest of the three, plus the fixed cost of a call. One rank exchanges nothing.
ReduceCost all_reduce_cost(const Cluster& cluster, double bytes);

}  // namespace ridgeline::comm
