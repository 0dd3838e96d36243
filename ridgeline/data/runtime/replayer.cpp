#include "ridgeline/data/runtime/replayer.h"

#include <fmt/format.h>

#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/runtime/pipeline.h"

namespace ridgeline::data {
namespace {

// As delivered: batch by batch where there are batches.
std::optional<RowAddress> address_of(const Pipeline& pipeline, std::uint64_t epoch, std::uint64_t index) {
  if (!pipeline.batched()) {
    if (!pipeline.rows().has({epoch, index})) return std::nullopt;
    return RowAddress{epoch, index};
  }
  // Batches may differ in size (bucket): those before are counted off.
  std::vector<RowAddress> rows;
  if (pipeline.batch_node().op == node_name::kBatch) {
    const auto size = static_cast<std::uint64_t>(pipeline.capacity());
    if (!pipeline.has_batch({epoch, index / size})) return std::nullopt;
    pipeline.rows_of({epoch, index / size}, rows);
    if (index % size < rows.size()) return rows[index % size];
    return std::nullopt;
  }
  std::uint64_t before = 0;
  for (std::uint64_t batch = 0; pipeline.has_batch({epoch, batch}); ++batch, before += rows.size()) {
    pipeline.rows_of({epoch, batch}, rows);
    if (index < before + rows.size()) return rows[index - before];
  }
  return std::nullopt;
}

}  // namespace

Replayer::Replayer(const Dataset& dataset, IteratorOptions options) {
  options.disabled_passes.emplace_back("plan_memory");  // no batch is made
  pipeline_ = std::make_unique<const Pipeline>(dataset, options);
}

Replayer::~Replayer() = default;

std::optional<Sample> Replayer::sample(std::uint64_t epoch, std::uint64_t index) const {
  const std::optional<RowAddress> address = address_of(*pipeline_, epoch, index);
  if (!address) return std::nullopt;
  const Rows& rows = pipeline_->rows();
  Scratch scratch(pipeline_->places());
  std::vector<Cell> cells(rows.schema().size());
  scratch.begin();
  const RowInfo info = rows.run(*address, {}, cells.data(), scratch);
  Sample sample{.columns = {}, .record = info.record, .origin = rows.origin(*address)};
  for (std::size_t i = 0; i < cells.size(); ++i) sample.columns.push_back({rows.schema()[i].name, to_tensor(cells[i])});
  return sample;
}

bool Replayer::has(std::uint64_t epoch, std::uint64_t index) const {
  return address_of(*pipeline_, epoch, index).has_value();
}

std::string Replayer::extent_of(std::uint64_t epoch) const {
  if (!pipeline_->batched()) return fmt::format("{} samples", pipeline_->rows().count(epoch));
  return fmt::format("{} batches", pipeline_->count_batches(epoch));
}

Sample replay(const Dataset& dataset, std::uint64_t epoch, std::uint64_t index, IteratorOptions options) {
  const Replayer replayer(dataset, std::move(options));
  if (std::optional<Sample> sample = replayer.sample(epoch, index)) return *std::move(sample);
  throw Error(fmt::format("[replay] there is no sample {}: an epoch has {}", index, replayer.extent_of(epoch)));
}

}  // namespace ridgeline::data
