// ridgeline/format/record/event_file.h
//
// TensorBoard event files: TFRecords of tensorflow.Event messages (core/util/event.proto,
// core/framework/summary.proto): scalars are read and written, histograms, pictures and the graph are written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/format/wire/append_file.h"

namespace ridgeline {

struct ScalarEvent {
  double wall_time = 0;  // seconds since 1970
  std::int64_t step = 0;
  std::string tag;
  float value = 0;
  friend bool operator==(const ScalarEvent&, const ScalarEvent&) = default;
};

// tensorflow.HistogramProto: how many values lie in each bin.
struct EventHistogram {
  double least = 0, most = 0, count = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> limits;  // upper ends of the bins, rising
  std::vector<double> counts;
};
// The histogram of the finite ones among `values`, in `parts` equal bins.
EventHistogram histogram_of(std::span<const float> values, int parts = 40);

// Appends events; every call is in the file when it returns. TensorBoard finds files whose name contains "tfevents":
// event_file_name() builds the usual one. One thread.
class EventFileWriter {
 public:
  // A new file starts with the version record, stamped `wall_time`. An existing one is continued; a record that a
  // killed process left torn at its end is cut off, and a file damaged elsewhere is an Error: readers would stop at the
  // damage.
  EventFileWriter(const std::string& path, double wall_time);

  struct Scalar {
    std::string_view tag;
    float value = 0;
  };
  // One event a call: all scalars of one step, as TensorBoard's own writers may do.
  void add(std::int64_t step, double wall_time, std::span<const Scalar> scalars);
  void add(std::int64_t step, double wall_time, std::string_view tag, float value);
  // The values of a tensor; writes nothing if none of them is finite.
  void add_histogram(std::int64_t step, double wall_time, std::string_view tag, const EventHistogram& histogram);
  // A PNG or JPEG of that size, `channels` 1 or 3.
  struct Picture {
    std::string_view tag;
    int height = 0, width = 0, channels = 3;
    std::span<const std::uint8_t> encoded;
  };
  void add_picture(std::int64_t step, double wall_time, const Picture& picture);
  // A serialised tensorflow.GraphDef, of the whole run.
  void add_graph(double wall_time, std::string_view graph_def);
  // Marks that a run was resumed at `step`: readers drop earlier records of this step and of later ones.
  void start(std::int64_t step, double wall_time);
  void sync() { file_.sync(); }

 private:
  void begin(double wall_time);
  void append(std::int64_t step, double wall_time, std::uint32_t field, std::string_view bytes);
  AppendFile file_;
};

// Continues the newest event file of `directory`; without one, or if that one cannot be continued (`warn` gets the
// reason), begins a new one of that time and host.
EventFileWriter continue_events(const std::string& directory, double wall_time, std::string_view host,
                                const std::function<void(const std::string&)>& warn);

inline constexpr char kEventFilePrefix[] = "events.out.tfevents.";
// kEventFilePrefix, then "<seconds>.<host>"
std::string event_file_name(std::int64_t seconds, std::string_view host);

struct EventFileContent {
  std::string file_version;
  double file_time = 0;  // of the version record
  std::vector<ScalarEvent> scalars;
  std::optional<std::string> damage;  // a torn or damaged end, as the reader's message
};

// Reads simple values and the rank-0 float and double tensors that TensorFlow 2 writes; other summaries are skipped.
// Where a run was resumed at an earlier step, the scalars of the repeated steps are dropped, as TensorBoard does.
EventFileContent read_event_file(const std::string& path);

}  // namespace ridgeline
