// Format version 1.0: servers with devices, each with its rank.
#include <fmt/format.h>

#include <set>

#include "ridgeline/comm/table_fields.h"
#include "ridgeline/core/printable.h"

namespace ridgeline::comm {

World world_of_servers(const TableField& table) {
  const TableField version = table.at("version");
  if (version.text() != "1.0")
    version.fail(fmt::format("is '{}' (allowed: 1.0; a table by groups has no version)", printable(version.text())));
  const std::vector<TableField> servers =
      table.at("server_list").elements("the 'server_list' in the ranktable is empty");
  if (table.has("server_count")) {
    const std::string message = "The 'server_count' in ranktable is invalid.";
    const TableField count = table.at("server_count");
    if (count.number(kMostRanks, message) != static_cast<int>(servers.size()))
      count.fail(
          fmt::format("{} (it is {}, the server_list has {})", message, printable(count.text()), servers.size()));
  }
  std::vector<TableRank> ranks;
  std::set<std::string> names;
  for (const TableField& server : servers) {
    const TableField id = server.at("server_id");
    const std::string name = id.name(64);
    if (!names.insert(name).second) id.fail(fmt::format("the server_id '{}' is used repeatedly", printable(name)));
    for (const TableField& device : server.at("device").elements("the device list is empty")) {
      const int number = device.at("device_id").number(kDevicesPerServer - 1, "The device_id is invalid.");
      ranks.push_back({.place = {.server = name,
                                 .pod = "",
                                 .device = number,
                                 .address = device.has("device_ip") ? device.at("device_ip").text() : ""},
                       .rank = device.at("rank_id").number(1 << 30, "The rank_id must be an digit."),
                       .field = device});
    }
  }
  if (ranks.size() > static_cast<std::size_t>(kMostRanks))
    table.fail(fmt::format("has {} ranks (at most {})", ranks.size(), kMostRanks));
  check_devices(ranks);
  return numbered_world(std::move(ranks));
}

}  // namespace ridgeline::comm
