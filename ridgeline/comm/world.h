// ridgeline/comm/world.h
//
// The processes that train together: one for each device, numbered from 0. A world comes from a rank table
// (rank_table.h), from the environment of a launcher (rank_environment.h), or is one process alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::comm {

struct RankPlace {
  std::string server;   // its name in the rank table; ranks of one server may share memory
  std::string pod;      // with a table by groups: the RANK_ID or POD_NAME of its process; else ""
  int device = 0;       // number of the device on its server
  std::string address;  // of the device, IPv4 or IPv6; "" if the table of a single server leaves it out
};

struct World {
  std::vector<RankPlace> ranks;  // by rank
  std::uint32_t checksum = 0;    // of the table's bytes (CRC-32C); 0 without a table. Equal on all ranks of a run

  int size() const { return static_cast<int>(ranks.size()); }
};

}  // namespace ridgeline::comm
