// ridgeline/data/pass/passes.h
//
// The list of passes between the user's graph and the runtime. Each takes a graph and returns another one with the same
// samples in the same order; prepare() runs them on a copy. A pass can be left out by name, except those that the
// runtime requires: naming one of these, or an unknown one, is an Error.
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
// Checks the columns at every node and inserts the implicit decode.
DataGraph resolve_schema(DataGraph graph);
// An Error if something random or repeating, or another cache, is below a cache. Changes nothing.
DataGraph cache_legality(DataGraph graph);
// Drops repeat(1), skip(0), take(-1), shard(1, 0) and map without operations.
DataGraph drop_no_ops(DataGraph graph);
// Moves order nodes below maps, filters below maps of other columns, and skip and take below batch, towards the source:
// no work for rows that nobody sees.
DataGraph push_down(DataGraph graph);
// Makes a source give fewer columns if a project drops the others, the source can (argument "columns"), and no node in
// between reads them.
DataGraph project_source(DataGraph graph);
// Joins adjacent maps: one stage for consecutive per-sample ops.
DataGraph fuse_chains(DataGraph graph);
// Moves the trailing flip and normalize to the consumer (its image tail): only draw_flip stays.
DataGraph split_tail(DataGraph graph);
// Merges decode + random_resized_crop, and decode + resize + center_crop, into one op that decodes a region.
DataGraph fuse_decode_crop(DataGraph graph);
// Merges the trailing flip, normalize and hwc_to_chw into one write.
DataGraph fuse_write(DataGraph graph);
// Merges a resize and the write after it into one op that works row by row.
DataGraph fuse_resize(DataGraph graph);
// Sets the hint write_slots of maps whose last step writes a value directly into the batch, without a copy.
DataGraph write_slots(DataGraph graph);
// Sets the hints memory_limit (unless given: 512 MiB, or six batches, as memory allows) and slots: how many batches fit
// into it. An Error if none does.
DataGraph plan_memory(DataGraph graph);
// Sets the hints workers (unless given) and rows_at_once, by the cost and number of rows.
DataGraph choose_workers(DataGraph graph);

struct Pass {
  std::string name;
  DataGraph (*run)(DataGraph);
  bool required = false;
  std::string doc, before, after;  // what it does, and an example; empty for passes that change nothing
};
// In their order. split_tail only for raw images.
std::vector<Pass> passes(bool raw_images);

// All passes as a page of text: name, whether it can be left out, what it does, before and after.
std::string passes_page();

// Runs them on a copy. `after` (if any) sees every graph with the name of the pass that made it.
DataGraph prepare(const DataGraph& graph, bool raw_images, const std::vector<std::string>& disabled = {},
                  const std::function<void(const std::string&, const DataGraph&)>& after = nullptr);

}  // namespace ridgeline::data
