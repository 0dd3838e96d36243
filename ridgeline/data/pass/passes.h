// ridgeline/data/pass/passes.h
//
// The page of passes between the user's graph and the runtime. Each takes a graph and returns another one with the same
// samples in the same order; prepare() runs them on a copy. A pass can be left out by name, except for those that the
// runtime cannot do without (required): asking for that, or for an unknown name, is an Error.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// Every node and argument is known and in range, and the graph is one that can run. Changes nothing.
DataGraph validate(DataGraph graph);
// Gives random streams their names where a front end left them empty.
DataGraph name_ops(DataGraph graph);
// Puts the operations of a compose in its place in map or batch, so that later passes see them.
DataGraph flatten_compose(DataGraph graph);
// Checks the columns at every node and writes down the implicit decode.
DataGraph resolve_schema(DataGraph graph);
// An Error where something random or repeating, or another cache, lies below a cache. Changes nothing.
DataGraph cache_legality(DataGraph graph);
// Drops repeat(1), skip(0), take(-1), shard(1, 0) and map without operations.
DataGraph drop_no_ops(DataGraph graph);
// Moves order nodes below maps, filters below maps of other columns, and skip and take below batch, towards the source:
// no work for rows nobody sees.
DataGraph push_down(DataGraph graph);
// Lets a source give fewer columns where a project leaves the others out, if the source offers it (argument "columns")
// and nothing between looks at them.
DataGraph project_source(DataGraph graph);
// Joins adjacent maps: one stage for consecutive per-sample ops.
DataGraph fuse_chains(DataGraph graph);
// Takes the trailing flip and normalize off the samples: draw_flip stays, the consumer does the rest (its image tail).
DataGraph split_tail(DataGraph graph);
// decode + random_resized_crop and decode + resize + center_crop into one op that decodes a region.
DataGraph fuse_decode_crop(DataGraph graph);
// The trailing flip, normalize and hwc_to_chw into one write.
DataGraph fuse_write(DataGraph graph);
// A resize and the write after it into one op that works row by row.
DataGraph fuse_resize(DataGraph graph);
// Hint write_slots: the maps whose last step makes a value in its place in the batch, so that nothing copies it.
DataGraph write_slots(DataGraph graph);
// Hints memory_limit (unless given: 512 MiB, or six batches, as memory allows) and slots: how many batches fit it. An
// Error where none does.
DataGraph plan_memory(DataGraph graph);
// Hints workers (unless given) and rows_at_once, by what rows cost and how many pieces of work there are.
DataGraph choose_workers(DataGraph graph);

struct Pass {
  std::string name;
  DataGraph (*run)(DataGraph);
  bool required = false;
  std::string doc, before, after;  // what it does, and an example; empty where it changes nothing
};
// In their order. split_tail is there for raw images only.
std::vector<Pass> passes(bool raw_images);

// All passes as a page of text: name, whether it can be left out, what it does, before and after.
std::string passes_page();

// Runs them on a copy. `after` (if any) sees every graph with the name of the pass that made it.
DataGraph prepare(const DataGraph& graph, bool raw_images, const std::vector<std::string>& disabled = {},
                  const std::function<void(const std::string&, const DataGraph&)>& after = nullptr);

}  // namespace ridgeline::data
