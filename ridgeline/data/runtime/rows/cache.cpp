#include <fmt/format.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "ridgeline/core/file.h"
#include "ridgeline/data/runtime/rows/rows.h"
#include "ridgeline/data/source/packed_cells.h"

namespace ridgeline::data {
namespace {

// Besides the columns, a kept row stores its record and that record's objects: what random transforms above depend on.
constexpr std::string_view kRecord = " record", kObjects = " objects";

PackedSchema file_schema(const Schema& schema) {
  PackedSchema packed{packed_columns(schema), {}};
  packed.columns.push_back({std::string(kRecord), DType::i64, Shape{}});
  packed.columns.push_back({std::string(kObjects), DType::f32, Shape{-1, 4}});
  return packed;
}

// A row in memory: one block, cells by offset.
struct Kept {
  std::vector<std::uint8_t> bytes;
  std::vector<Cell> cells;  // data is set when they are lent
  std::vector<std::size_t> offsets;
  std::vector<image::ObjectBox> objects;
  std::uint64_t record = 0;
};

// A row of the file, into which its cells point.
struct FileRow : Record::Work {
  PackedRow row;
};

// The rows that are being made; several of these, so that workers seldom meet.
struct RowTurns {
  std::mutex mutex;
  std::condition_variable done;
  std::unordered_set<std::uint64_t> rows;
};

// One worker's turn to make a row: the constructor waits while another has it.
class RowTurn {
 public:
  RowTurn(RowTurns& turns, std::uint64_t row) : turns_(turns), row_(row) {
    std::unique_lock lock(turns.mutex);
    for (; !turns.rows.insert(row).second; waited_ = true) turns.done.wait(lock);
  }
  ~RowTurn() {
    {
      const std::lock_guard lock(turns_.mutex);
      turns_.rows.erase(row_);
    }
    turns_.done.notify_all();
  }
  RowTurn(const RowTurn&) = delete;
  RowTurn& operator=(const RowTurn&) = delete;
  bool waited() const { return waited_; }

 private:
  RowTurns& turns_;
  std::uint64_t row_;
  bool waited_ = false;
};

class CacheRows : public Rows {
 public:
  CacheRows(const Node& node, RowsPtr input, int place, const std::string& key, Log* log)
      : Rows(input->size(), input->schema()),
        input_(std::move(input)),
        log_(log),
        place_(static_cast<std::size_t>(place)),
        memory_limit_(arg<std::int64_t>(node.args, "memory_limit")) {
    if (size() < 0) throw Error("[cache] needs a known number of rows: nothing endless and no filter below it");
    kept_ = std::vector<std::atomic<const Kept*>>(static_cast<std::size_t>(size()));
    const std::string& directory = arg<std::string>(node.args, "directory");
    if (directory.empty()) return;
    make_directories(directory);
    path_ = (std::filesystem::path(directory) / ("cache-" + key + ".ridge")).string();
    if (open()) return;
    writer_ = std::make_unique<PackedWriter>(path_, file_schema(schema()));
    written_ = std::vector<std::atomic<bool>>(static_cast<std::size_t>(size()));
  }
  ~CacheRows() override {
    for (const auto& row : kept_) delete row.load();
  }

  RowInfo run(RowAddress a, Targets targets, Cell* cells, Scratch& scratch) const override {
    if (const std::optional<RowInfo> row = find(a, cells, scratch)) return *row;
    // Another worker that needs the row waits for it, as long as rows are kept.
    std::optional<RowTurn> turn;
    if (!full_.load(std::memory_order_relaxed)) {
      turn.emplace(turns_[a.position % turns_.size()], a.position);
      if (turn->waited()) {
        if (const std::optional<RowInfo> row = find(a, cells, scratch)) return *row;
      }
    }
    const RowInfo info = make(a.position, targets, cells, scratch);
    keep(a.position, info, cells);
    return {a.epoch, info.record, info.objects};
  }
  std::string origin(RowAddress a) const override { return input_->origin({0, a.position}); }
  std::uint64_t records() const override { return input_->records(); }

 private:
  // The row if it is kept.
  std::optional<RowInfo> find(RowAddress a, Cell* cells, Scratch& scratch) const {
    if (const Kept* row = kept_[a.position].load(std::memory_order_acquire)) return lend(*row, a, cells);
    if (const PackedFile* file = file_.load(std::memory_order_acquire)) {
      try {
        return read(*file, a, cells, scratch.at(place_));
      } catch (const Error& e) {  // a damaged row: it is made again, as if it had never been kept
        give_up_file(e);
      }
    }
    return {};
  }

  // False if there is no file, or none to be used.
  bool open() {
    std::error_code none;
    if (!std::filesystem::exists(path_, none)) return false;
    try {
      auto file = std::make_unique<const PackedFile>(path_);
      if (file->size() != static_cast<std::size_t>(size()) || file->schema() != file_schema(schema()))
        throw Error(fmt::format("{} holds other rows than this graph makes", path_));
      publish(std::move(file));
      return true;
    } catch (const Error& e) {
      if (log_) log_->warning(fmt::format("the cache makes its file anew: {}", e.what()));
      return false;
    }
  }

  // The next run finds no file and makes it anew. This one goes on with the rows that are whole.
  void give_up_file(const Error& damage) const {
    if (file_given_up_.exchange(true)) return;
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    if (log_)
      log_->warning(fmt::format("the cache removes its file, which the next run makes anew: {}", damage.what()));
  }

  // Whatever is below does not depend on the epoch (cache_legality). A row that will be kept is not made twice: so the
  // decoder need not leave an index for it.
  RowInfo make(std::uint64_t position, Targets targets, Cell* cells, Scratch& scratch) const {
    struct Lent {
      Scratch& scratch;
      JpegIndices* indices;
      ~Lent() { scratch.indices = indices; }
    } lent{scratch, scratch.indices};
    if (!full_.load(std::memory_order_relaxed)) scratch.indices = nullptr;
    return input_->run({0, position}, targets, cells, scratch);
  }

  // Once in the life of the object.
  void publish(std::unique_ptr<const PackedFile> file) const {
    opened_ = std::move(file);
    file_.store(opened_.get(), std::memory_order_release);
  }

  static RowInfo lend(const Kept& row, RowAddress a, Cell* cells) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      cells[i] = row.cells[i];
      cells[i].data = row.bytes.data() + row.offsets[i];
    }
    return {a.epoch, row.record, &row.objects};
  }

  RowInfo read(const PackedFile& file, RowAddress a, Cell* cells, Workspace& work) const {
    PackedRow& fields = work.record.work_as<FileRow>().row;
    file.read(a.position, fields);
    const std::size_t columns = schema().size();
    for (std::size_t i = 0; i < columns; ++i) {
      const std::span<const std::uint8_t> bytes = fields[i].bytes;
      cells[i] = schema()[i].dtype == DType::bytes
                     ? bytes_cell(bytes.data(), bytes.size())
                     : dense_cell(bytes.data(), schema()[i].dtype, fields[i].extents.dims());
    }
    std::int64_t record = 0;
    std::memcpy(&record, fields[columns].bytes.data(), sizeof record);
    const auto* sides = reinterpret_cast<const float*>(fields[columns + 1].bytes.data());
    work.boxes.resize(fields[columns + 1].bytes.size() / (4 * sizeof(float)));
    for (std::size_t i = 0; i < work.boxes.size(); ++i)
      work.boxes[i] = {sides[4 * i], sides[4 * i + 1], sides[4 * i + 2], sides[4 * i + 3]};
    return {a.epoch, static_cast<std::uint64_t>(record), &work.boxes};
  }

  void keep(std::uint64_t position, const RowInfo& info, const Cell* cells) const {
    if (writer_ && !write_failed_ && !file_.load(std::memory_order_acquire)) try_to_write(position, info, cells);
    std::size_t block = 0;
    for (std::size_t i = 0; i < schema().size(); ++i) block += aligned(cells[i].bytes);
    const std::size_t bytes = sizeof(Kept) + block + schema().size() * (sizeof(Cell) + sizeof(std::size_t)) +
                              (info.objects ? info.objects->size() * sizeof(image::ObjectBox) : 0);
    if (used_.fetch_add(static_cast<std::int64_t>(bytes)) + static_cast<std::int64_t>(bytes) > memory_limit_) {
      used_.fetch_sub(static_cast<std::int64_t>(bytes));
      if (!writer_ || write_failed_) full_.store(true, std::memory_order_relaxed);
      return;
    }
    auto row = std::make_unique<Kept>();
    row->bytes.resize(block);
    row->cells.assign(cells, cells + schema().size());
    row->offsets.reserve(schema().size());
    std::size_t offset = 0;
    for (Cell& cell : row->cells) {
      copy_cell(cell, row->bytes.data() + offset);
      cell.row_bytes = 0;
      row->offsets.push_back(offset);
      offset += aligned(cell.bytes);
    }
    if (info.objects) row->objects = *info.objects;
    row->record = info.record;
    const Kept* none = nullptr;
    if (kept_[position].compare_exchange_strong(none, row.get(), std::memory_order_acq_rel)) {
      [[maybe_unused]] const Kept* owned = row.release();  // by kept_ from here on
    } else {
      used_.fetch_sub(static_cast<std::int64_t>(bytes));  // another worker was first
    }
  }

  // Without a file (a full disk) the run is only slower: no row is lost.
  void try_to_write(std::uint64_t position, const RowInfo& info, const Cell* cells) const {
    try {
      write(position, info, cells);
    } catch (const Error& e) {
      if (!write_failed_.exchange(true) && log_)
        log_->warning(fmt::format("the cache goes on without its file: {}", e.what()));
    }
  }

  // Rows come in the order in which they are first needed. The file appears when the last one is there.
  void write(std::uint64_t position, const RowInfo& info, const Cell* cells) const {
    if (written_[position].exchange(true)) return;
    std::vector<std::vector<std::uint8_t>> dense;
    std::vector<PackedValue> values = packed_values({cells, schema().size()}, dense);
    const auto record = static_cast<std::int64_t>(info.record);
    values.push_back({{reinterpret_cast<const std::uint8_t*>(&record), sizeof record}, {}});
    const std::size_t objects = info.objects ? info.objects->size() : 0;
    std::vector<float> sides;
    for (std::size_t i = 0; i < objects; ++i) {
      const image::ObjectBox& box = (*info.objects)[i];
      sides.insert(sides.end(), {box.ymin, box.xmin, box.ymax, box.xmax});
    }
    const std::int64_t extents[]{static_cast<std::int64_t>(objects), 4};
    values.push_back({{reinterpret_cast<const std::uint8_t*>(sides.data()), sides.size() * sizeof(float)}, extents});
    writer_->add(position, values);
    if (++done_ < size()) return;
    writer_->finish(static_cast<std::size_t>(size()));
    publish(std::make_unique<const PackedFile>(path_));
  }

  static std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

  RowsPtr input_;
  Log* log_;
  std::size_t place_;
  std::int64_t memory_limit_;
  mutable std::vector<std::atomic<const Kept*>> kept_;
  mutable std::array<RowTurns, 16> turns_;
  mutable std::atomic<std::int64_t> used_{0};
  mutable std::atomic<bool> full_{false};  // a row was not kept: it will be made again
  std::string path_;
  std::unique_ptr<PackedWriter> writer_;
  mutable std::vector<std::atomic<bool>> written_;
  mutable std::atomic<std::int64_t> done_{0};
  mutable std::atomic<bool> write_failed_{false};
  mutable std::atomic<bool> file_given_up_{false};
  mutable std::unique_ptr<const PackedFile> opened_;
  mutable std::atomic<const PackedFile*> file_{nullptr};  // opened_, for those who did not open it
};

}  // namespace

RowsPtr make_cache_rows(const Node& node, RowsPtr input, int place, const std::string& key, Log* log) {
  return std::make_shared<CacheRows>(node, std::move(input), place, key, log);
}

}  // namespace ridgeline::data
