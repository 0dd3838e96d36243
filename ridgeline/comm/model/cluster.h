// ridgeline/comm/model/cluster.h
//
// Models of clusters: how fast their ranks exchange. Plain figures, each with its source.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ridgeline::comm {

struct Link {
  double bytes_per_second = 0;  // in one direction while the other is equally busy
  double seconds = 0;           // of one message without its bytes: one step of a ring, one level of a tree
};

// Nodes of equal size. Ranks of a node communicate over `inside`, each with a link of its own; all ranks of a node
// share `between`.
struct Cluster {
  std::string name;
  std::string links;   // description of the links
  std::string source;  // of the figures
  int nodes = 1;
  int ranks_per_node = 1;
  Link inside;
  Link between;
  double call_seconds = 0;  // of a collective, whatever its size

  int ranks() const { return nodes * ranks_per_node; }
};

std::span<const Cluster> cluster_table();
// An Error (kind usage) that lists them for another name.
const Cluster& cluster_named(std::string_view name);

}  // namespace ridgeline::comm
