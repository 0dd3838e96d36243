// ridgeline/comm/table_fields.h
//
// The fields of a rank table's JSON, each with its path for messages: what both forms of tables read them with.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/comm/world.h"
#include "ridgeline/format/text/json_value.h"

namespace ridgeline::comm {

// A value and where it stands: "8p.json: server_list[0].device[2]".
class TableField {
 public:
  TableField(const JsonValue& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  bool has(const std::string& key) const { return value_->find(key) != nullptr; }
  // A member; an Error where it is missing.
  TableField at(const std::string& key) const;
  // The elements of an array; an Error where it is none, and, in `empty_message`'s words, where it has none.
  std::vector<TableField> elements(const std::string& empty_message) const;
  // Text, of any length from 1 to `longest` characters.
  std::string name(std::size_t longest) const;
  // Text as it is, "" too.
  std::string text() const;
  // A whole number from 0 to `most`, as a number or as text of digits; otherwise an Error that begins with `message`.
  int number(int most, const std::string& message) const;
  // An Error of kind usage: "[rank table] PATH: message".
  [[noreturn]] void fail(const std::string& message) const;

 private:
  std::string shown() const;  // the value for messages, cut to a line

  const JsonValue* value_;
  std::string path_;
};

// The most devices of a server, and the most ranks of a world.
inline constexpr int kDevicesPerServer = 8;
inline constexpr int kMostRanks = 65536;

// A rank of a table while it is read.
struct TableRank {
  RankPlace place;
  int rank = -1;     // -1: numbered by order
  TableField field;  // the device's, for messages
};

// Both forms end here: device ids unique on a server, addresses valid, of one family, unique, there where there are
// several servers. `ranks` in the order of the table.
void check_devices(const std::vector<TableRank>& ranks);

// Ranks as the table numbers them: from 0, each once, a server's side by side.
World numbered_world(std::vector<TableRank> ranks);

// The two forms; `table` is the whole of it.
World world_of_servers(const TableField& table);
World world_of_groups(const TableField& table);

}  // namespace ridgeline::comm
