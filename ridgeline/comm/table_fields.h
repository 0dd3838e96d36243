// ridgeline/comm/table_fields.h
//
// The fields of a rank table's JSON, each with its path for messages; shared by the readers of both formats.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/comm/world.h"
#include "ridgeline/format/text/json_value.h"

namespace ridgeline::comm {

// A value and its path: "8p.json: server_list[0].device[2]".
class TableField {
 public:
  TableField(const JsonValue& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  bool has(const std::string& key) const { return value_->find(key) != nullptr; }
  // A member; an Error if it is missing.
  TableField at(const std::string& key) const;
  // The elements of an array; an Error if it is not an array, and, with the text `empty_message`, if it is empty.
  std::vector<TableField> elements(const std::string& empty_message) const;
  // Text, of any length from 1 to `longest` characters.
  std::string name(std::size_t longest) const;
  // Any text, also "".
  std::string text() const;
  // An integer from 0 to `most`, as a number or as text of digits; otherwise an Error that begins with `message`.
  int number(int most, const std::string& message) const;
  // An Error of kind usage: "[rank table] PATH: message".
  [[noreturn]] void fail(const std::string& message) const;

 private:
  std::string shown() const;  // the value for messages, cut to a line

  const JsonValue* value_;
  std::string path_;
};

// The largest numbers of devices of a server and of ranks of a world.
inline constexpr int kDevicesPerServer = 8;
inline constexpr int kMostRanks = 65536;

// A rank of a table while it is read.
struct TableRank {
  RankPlace place;
  int rank = -1;     // -1: numbered by position
  TableField field;  // the device's, for messages
};

// The checks of both formats: device ids are unique on a server; addresses are valid, of one family, unique, and
// present if there are several servers. `ranks` in the order of the table.
void check_devices(const std::vector<TableRank>& ranks);

// Ranks by the table's numbers: from 0, each once, those of a server consecutive.
World numbered_world(std::vector<TableRank> ranks);

// The two formats; `table` is the whole table.
World world_of_servers(const TableField& table);
World world_of_groups(const TableField& table);

}  // namespace ridgeline::comm
