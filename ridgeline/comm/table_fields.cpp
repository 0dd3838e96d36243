#include "ridgeline/comm/table_fields.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"

namespace ridgeline::comm {
namespace {

// AF_INET, AF_INET6, or 0 for text that is no address.
int address_family(const std::string& address) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, address.c_str(), bytes.data()) == 1) return family;
  }
  return 0;
}

}  // namespace

void TableField::fail(const std::string& message) const {
  const char* between = path_.ends_with(": ") ? "" : ": ";  // of the whole table, the path is that of the file
  throw Error(fmt::format("[rank table] {}{}{}", path_, between, message), ErrorKind::usage);
}

std::string TableField::shown() const {
  std::string text = printable(to_json_text(*value_));
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

TableField TableField::at(const std::string& key) const {
  if (value_->object() == nullptr) fail(fmt::format("is {}, but must be an object", value_->kind()));
  const JsonValue* member = value_->find(key);
  if (member == nullptr) fail(fmt::format("has no '{}'", key));
  return {*member, path_ + (path_.ends_with(": ") ? "" : ".") + key};
}

std::vector<TableField> TableField::elements(const std::string& empty_message) const {
  const JsonValue::Array* array = value_->array();
  if (array == nullptr) fail(fmt::format("is {}, but must be an array", value_->kind()));
  if (array->empty()) fail(empty_message);
  std::vector<TableField> all;
  for (std::size_t i = 0; i < array->size(); ++i) all.emplace_back((*array)[i], fmt::format("{}[{}]", path_, i));
  return all;
}

std::string TableField::text() const {
  if (const std::string* text = value_->text()) return *text;
  if (const std::int64_t* number = value_->integer()) return std::to_string(*number);
  fail(fmt::format("is {}, but must be text", value_->kind()));
}

std::string TableField::name(std::size_t longest) const {
  std::string name = text();
  if (name.empty() || name.size() > longest)
    fail(fmt::format("has {} characters, but must have 1 to {}", name.size(), longest));
  return name;
}

int TableField::number(int most, const std::string& message) const {
  std::int64_t number = -1;
  if (const std::int64_t* integer = value_->integer()) {
    number = *integer;
  } else if (const std::string* text = value_->text()) {
    const char* end = text->data() + text->size();
    const bool digits =
        !text->empty() && std::all_of(text->begin(), text->end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || std::from_chars(text->data(), end, number).ptr != end) number = -1;
  }
  if (number < 0 || number > most) fail(fmt::format("{} (it is {}, allowed: 0 to {})", message, shown(), most));
  return static_cast<int>(number);
}

void check_devices(const std::vector<TableRank>& ranks) {
  std::set<std::string> servers;
  for (const TableRank& r : ranks) servers.insert(r.place.server);
  std::set<std::pair<std::string, int>> devices;
  std::map<std::string, const TableRank*> addresses;
  int family = 0;
  for (const TableRank& r : ranks) {
    const RankPlace& place = r.place;
    if (!devices.emplace(place.server, place.device).second)
      r.field.fail(
          fmt::format("the device_id {} of server '{}' is used repeatedly", place.device, printable(place.server)));
    if (place.address.empty()) {
      if (servers.size() > 1) r.field.fail("has no device_ip, which devices of several servers need");
      continue;
    }
    const int own = address_family(place.address);
    if (own == 0) r.field.fail(fmt::format("the device_ip '{}' is no IPv4 or IPv6 address", printable(place.address)));
    if (family != 0 && own != family)
      r.field.fail("the device_ip is of the other family: IPv4 and IPv6 must not be mixed");
    family = own;
    const auto [other, first] = addresses.emplace(place.address, &r);
    if (!first)
      r.field.fail(fmt::format("the device_ip {} is used by {}, too", place.address, other->second->field.path()));
  }
}

World numbered_world(std::vector<TableRank> ranks) {
  const int size = static_cast<int>(ranks.size());
  World world;
  world.ranks.resize(ranks.size());
  std::vector<const TableRank*> holder(ranks.size());
  for (const TableRank& r : ranks) {
    if (r.rank >= size)
      r.field.fail(
          fmt::format("Use a rank ID that exceeds the rank size in the ranktable. (rank_id {}, {} devices: allowed 0 "
                      "to {})",
                      r.rank, size, size - 1));
    const TableRank*& there = holder[static_cast<std::size_t>(r.rank)];
    if (there != nullptr)
      r.field.fail(fmt::format(
          "The 'rank_id' in the ranktable must start from 0 or it is used repeatedly ({} is that of {}, too)", r.rank,
          there->field.path()));
    there = &r;
  }
  // Each rank is given once and below the size: none is missing. A server's must be consecutive.
  std::set<std::string> left;
  for (std::size_t i = 0; i < holder.size(); ++i) {
    const std::string& server = holder[i]->place.server;
    if (i > 0 && holder[i - 1]->place.server != server) left.insert(holder[i - 1]->place.server);
    if (left.contains(server))
      holder[i]->field.fail(
          fmt::format("the rank ids of servers are interleaved: rank {} is on '{}' again, which had lower ones before "
                      "another server",
                      i, printable(server)));
    world.ranks[i] = holder[i]->place;
  }
  return world;
}

}  // namespace ridgeline::comm
