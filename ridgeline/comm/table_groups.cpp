// The older formats: groups of instances (pods), numbered by the order of servers and devices, or by a rank id in each
// instance. All groups of a table are one world.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ridgeline/comm/table_fields.h"
#include "ridgeline/core/printable.h"

namespace ridgeline::comm {
namespace {

// `key` holds their number, which is not 0.
void check_count(const TableField& owner, const char* key, std::size_t found, const char* what) {
  const TableField field = owner.at(key);
  const int count = field.number(kMostRanks, fmt::format("The '{}' in ranktable is invalid.", key));
  if (count == 0 || static_cast<std::size_t>(count) != found)
    field.fail(fmt::format("The '{}' in ranktable is invalid. (it is {}, there are {} {})", key, count, found, what));
}

void read_instance(const TableField& instance, std::vector<TableRank>& ranks) {
  const bool by_rank = instance.has("rank_id");
  const std::string server = instance.at("server_id").name(64);
  const std::string pod = by_rank ? instance.at("rank_id").text() : instance.at("pod_name").name(127);
  const std::vector<TableField> devices = instance.at("devices").elements("the device list is empty");
  if (by_rank && devices.size() != 1)
    instance.at("devices").fail(fmt::format("has {} devices beside one rank_id (allowed: 1)", devices.size()));
  for (const TableField& device : devices) {
    const int rank = by_rank ? instance.at("rank_id").number(1 << 30, "The rank_id must be an digit.") : -1;
    ranks.push_back(
        {.place = {.server = server,
                   .pod = pod,
                   .device = device.at("device_id").number(kDevicesPerServer - 1, "The device_id is invalid."),
                   .address = device.has("device_ip") ? device.at("device_ip").text() : ""},
         .rank = rank,
         .field = device});
  }
}

}  // namespace

World world_of_groups(const TableField& table) {
  const std::vector<TableField> groups = table.at("group_list").elements("the 'group_list' in the ranktable is empty");
  check_count(table, "group_count", groups.size(), "groups");
  std::vector<TableRank> ranks;
  std::set<std::string> names;
  for (const TableField& group : groups) {
    const TableField name = group.at("group_name");
    if (!names.insert(name.text()).second)
      name.fail(fmt::format("the group_name '{}' is used repeatedly", printable(name.text())));
    const std::vector<TableField> instances = group.at("instance_list").elements("the instance_list is empty");
    const std::size_t before = ranks.size();
    std::set<std::string> servers;
    for (const TableField& instance : instances) {
      read_instance(instance, ranks);
      servers.insert(ranks.back().place.server);
    }
    check_count(group, "instance_count", instances.size(), "instances");
    check_count(group, group.has("device_num") ? "device_num" : "device_count", ranks.size() - before, "devices");
    if (group.has("server_num")) check_count(group, "server_num", servers.size(), "servers");
  }
  if (ranks.size() > static_cast<std::size_t>(kMostRanks))
    table.fail(fmt::format("has {} ranks (at most {})", ranks.size(), kMostRanks));
  check_devices(ranks);
  const auto numbered = [](const TableRank& r) { return r.rank >= 0; };
  if (std::all_of(ranks.begin(), ranks.end(), numbered)) return numbered_world(std::move(ranks));
  if (std::any_of(ranks.begin(), ranks.end(), numbered))
    table.fail("some instances have a rank_id and others a pod_name; a table has one of them");
  std::stable_sort(ranks.begin(), ranks.end(), [](const TableRank& a, const TableRank& b) {
    return std::tie(a.place.server, a.place.device) < std::tie(b.place.server, b.place.device);
  });
  World world;
  for (TableRank& r : ranks) world.ranks.push_back(std::move(r.place));
  return world;
}

}  // namespace ridgeline::comm
