#include "ridgeline/comm/rank_table.h"

#include <fmt/format.h>

#include "ridgeline/comm/table_fields.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/format/wire/crc32c.h"

namespace ridgeline::comm {

World parse_rank_table(std::string_view text, const std::string& where) {
  const JsonValue value = parse_json(text, "[rank table] " + where);
  const TableField table(value, where + ": ");
  const TableField status = table.at("status");
  if (status.text() == "initializing") status.fail("is 'initializing': the table is not ready (allowed: completed)");
  if (status.text() != "completed") status.fail(fmt::format("is '{}' (allowed: completed)", printable(status.text())));
  if (table.has("server_list") && table.has("group_list"))
    table.fail("has a server_list and a group_list; a table has one of them");
  World world;
  if (table.has("server_list")) {
    world = world_of_servers(table);
  } else if (table.has("group_list")) {
    world = world_of_groups(table);
  } else {
    table.fail("has neither a 'server_list' nor a 'group_list'");
  }
  world.checksum = crc32c({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return world;
}

World read_rank_table(const std::string& path) {
  if (!is_regular_file(path))
    throw Error(
        fmt::format("[rank table] the path {} is not a valid real path (RANK_TABLE_FILE or --rank_table names a JSON "
                    "file)",
                    printable(path)),
        ErrorKind::usage);
  return parse_rank_table(read_file(path), printable(path));
}

}  // namespace ridgeline::comm
