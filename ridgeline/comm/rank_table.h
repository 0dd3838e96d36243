// ridgeline/comm/rank_table.h
//
// Rank tables: the JSON files that tell which devices of which servers train together. Three formats are read:
// - version 1.0: `server_list` of `device` lists with a `rank_id` each;
// - by groups: `group_list` of `instance_list` (pods) of `devices`, without rank ids: servers and devices are ordered
//   by their ids and numbered from 0;
// - by groups with a `rank_id` in each instance, which has one device.
// Numbers may be JSON numbers or text of digits. Unknown keys are skipped.
#pragma once

#include <string>
#include <string_view>

#include "ridgeline/comm/world.h"

namespace ridgeline::comm {

// The table in a file. Errors (kind usage) name the file, the field by its path, its value and what is allowed; they
// keep the words of the original's messages: "The rank_id must be an digit.", "The 'server_count' in ranktable is
// invalid.". For a missing file: "the path ... is not a valid real path".
World read_rank_table(const std::string& path);

// The same for a table's text; messages begin with `where`: "[rank table] 8p.json".
World parse_rank_table(std::string_view text, const std::string& where);

}  // namespace ridgeline::comm
