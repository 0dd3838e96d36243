#include "ridgeline/data/runtime/save.h"

#include <memory>
#include <vector>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/runtime/for_each.h"
#include "ridgeline/data/runtime/pipeline.h"
#include "ridgeline/data/source/packed_cells.h"

namespace ridgeline::data {
namespace {

void write_row(const Rows& rows, RowAddress address, Scratch& scratch, PackedWriter& writer) {
  scratch.cells.resize(rows.schema().size());
  scratch.begin();
  rows.run(address, {}, scratch.cells.data(), scratch);
  std::vector<std::vector<std::uint8_t>> dense;
  writer.add(address.position, packed_values(scratch.cells, dense));
}

}  // namespace

std::int64_t save(const Dataset& dataset, const std::string& path, const SaveOptions& options) {
  if (batch_node(dataset.graph())) throw Error("[save] writes rows: leave batch out of the dataset");
  const Pipeline pipeline(dataset, {});
  const Rows& rows = pipeline.rows();
  if (rows.size() == kForever) throw Error("[save] the dataset has no end: leave repeat out, or add take");
  const std::int64_t count = rows.count(options.epoch);
  if (count == 0) throw Error("[save] the dataset has no rows");
  PackedWriter writer(path, {packed_columns(rows.schema()), dataset.class_names()}, dataset.to_json());
  std::vector<std::unique_ptr<Scratch>> scratch(static_cast<std::size_t>(worker_count(options.workers)));
  const auto write = [&](std::int64_t position, int worker) {
    std::unique_ptr<Scratch>& mine = scratch[static_cast<std::size_t>(worker)];
    if (!mine) mine = std::make_unique<Scratch>(pipeline.places());
    write_row(rows, {options.epoch, static_cast<std::uint64_t>(position)}, *mine, writer);
  };
  for_each(count, options.workers, write, options.progress);
  writer.finish(static_cast<std::size_t>(count));
  return count;
}

}  // namespace ridgeline::data
