#include "ridgeline/data/pass/passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ridgeline::data {

std::vector<Pass> passes(bool raw_images) {
  std::vector<Pass> list{
      {"validate", validate, true},
      {"name_ops", name_ops, true},
      {"flatten_compose", flatten_compose, true},
      {"resolve_schema", resolve_schema, true},
      {"drop_no_ops", drop_no_ops},
      {"push_down", push_down},
      {"fuse_chains", fuse_chains},
  };
  if (raw_images) list.push_back({"split_tail", split_tail, true});
  list.push_back({"fuse_decode_crop", fuse_decode_crop});
  list.push_back({"fuse_write", fuse_write});
  return list;
}

DataGraph prepare(const DataGraph& graph, bool raw_images, const std::vector<std::string>& disabled,
                  const std::function<void(const std::string&, const DataGraph&)>& after) {
  const std::vector<Pass> list = passes(raw_images);
  for (const std::string& name : disabled) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const Pass& p) { return p.name == name; });
    std::vector<std::string> names;
    for (const Pass& pass : list) {
      if (!pass.required) names.push_back(pass.name);
    }
    if (found == list.end()) {
      const std::string nearest = nearest_name(name, names);
      throw Error(fmt::format("unknown data pass '{}'{} (can be left out: {})", name,
                              nearest.empty() ? "" : ": did you mean '" + nearest + "'?", fmt::join(names, ", ")));
    }
    if (found->required)
      throw Error(fmt::format("data pass '{}' cannot be left out (those that can: {})", name, fmt::join(names, ", ")));
  }
  DataGraph result = graph;
  for (const Pass& pass : list) {
    if (std::find(disabled.begin(), disabled.end(), pass.name) != disabled.end()) continue;
    result = pass.run(std::move(result));
    if (after) after(pass.name, result);
  }
  return result;
}

}  // namespace ridgeline::data
