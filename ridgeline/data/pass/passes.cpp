#include "ridgeline/data/pass/passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ridgeline::data {

std::vector<Pass> passes(bool raw_images) {
  std::vector<Pass> list{
      {"validate", validate, true,
       "checks that all nodes and arguments are known and in range, and that the graph can run"},
      {"name_ops", name_ops, true, "names the random streams that a front end left unnamed",
       "map(random_horizontal_flip, random_horizontal_flip)",
       "map(random_horizontal_flip, random_horizontal_flip named random_horizontal_flip_1)"},
      {"flatten_compose", flatten_compose, true, "replaces a compose by its operations",
       "map(compose(resize, normalize))", "map(resize, normalize)"},
      {"resolve_schema", resolve_schema, true, "checks the columns of every node and inserts the implicit decode",
       "image_folder | map(resize)", "image_folder | map(decode, resize)"},
      {"cache_legality", cache_legality, true, "refuses random nodes, repetitions and other caches below a cache"},
      {"drop_no_ops", drop_no_ops, false, "drops repeat(1), skip(0), take(-1), shard(1, 0) and maps without operations",
       "image_folder | repeat 1 | skip 0 | batch", "image_folder | batch"},
      {"push_down", push_down, false,
       "moves order nodes below maps, filters below maps of other columns, and skip and take below batch, so that no "
       "work is done for unused rows",
       "image_folder | map(resize) | shuffle | batch 4 | take 3",
       "image_folder | shuffle | take 12 | map(resize) | batch 4"},
      {"project_source", project_source, false,
       "reads only the columns that a project keeps, if the source supports it",
       "in_memory(image, label) | shuffle | project label", "in_memory(label) | shuffle"},
      {"fuse_chains", fuse_chains, false, "merges adjacent maps of the same columns",
       "image_folder | map(resize) | map(normalize)", "image_folder | map(resize, normalize)"},
  };
  if (raw_images) {
    list.push_back({"split_tail", split_tail, true, "for raw images: leaves a final flip and normalize to the consumer",
                    "map(resize, random_horizontal_flip, normalize)", "map(resize, draw_flip)"});
  }
  list.push_back({"fuse_decode_crop", fuse_decode_crop, false,
                  "merges decode and a crop into one transform that decodes only the region of the crop",
                  "map(decode, random_resized_crop)", "map(decode_random_resized_crop)"});
  list.push_back({"fuse_write", fuse_write, false, "merges a final flip, normalize and hwc_to_chw into one write",
                  "map(resize, random_horizontal_flip, normalize, hwc_to_chw)", "map(resize, write)"});
  list.push_back({"fuse_resize", fuse_resize, false,
                  "merges a resize and the write after it, which then processes rows while they are in cache",
                  "map(decode_random_resized_crop, write)", "map(resize_write(decode_random_resized_crop, write))"});
  list.push_back(
      {"write_slots", write_slots, false,
       "lets the last transform of a map write directly into the batch's memory; without it, rows are copied",
       "map(resize, write) | batch", "map(resize, write) write_slots=1 | batch"});
  list.push_back({"plan_memory", plan_memory, false,
                  "computes how many batches fit into memory_limit; without it, two batches are prefetched",
                  "batch 128", "batch 128 memory_limit=536870912 slots=6"});
  list.push_back({"choose_workers", choose_workers, false,
                  "sets one worker per core, but not more than there is work for, and several rows at a time if rows "
                  "are cheap; without it, one worker (if no number is given) and one row",
                  "in_memory | batch 128 slots=8", "in_memory | batch 128 slots=8 workers=16 rows_at_once=64"});
  return list;
}

std::string passes_page() {
  std::string page;
  for (const Pass& pass : passes(true)) {
    page += fmt::format("{}{}: {}\n", pass.name, pass.required ? "" : " (can be left out)", pass.doc);
    if (!pass.before.empty()) page += fmt::format("  before  {}\n  after   {}\n", pass.before, pass.after);
  }
  return page;
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
      throw Error(fmt::format("unknown data pass '{}'{} (can be left out: {})", name, did_you_mean(name, names),
                              fmt::join(names, ", ")));
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
