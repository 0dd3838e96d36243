#include "ridgeline/format/record/event_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/record/tfrecord.h"
#include "ridgeline/format/wire/protobuf_wire.h"

namespace ridgeline {
namespace {

// Field numbers: tensorflow.Event, SessionLog, Summary, Summary.Value, TensorProto, HistogramProto, Summary.Image.
constexpr std::uint32_t kEventWallTime = 1;
constexpr std::uint32_t kEventStep = 2;
constexpr std::uint32_t kEventFileVersion = 3;
constexpr std::uint32_t kEventGraph = 4;
constexpr std::uint32_t kEventSummary = 5;
constexpr std::uint32_t kEventSession = 7;
constexpr std::uint32_t kSessionStatus = 1;
constexpr std::uint32_t kSummaryValue = 1;
constexpr std::uint32_t kValueTag = 1;
constexpr std::uint32_t kValueSimple = 2;
constexpr std::uint32_t kValueImage = 4;
constexpr std::uint32_t kValueHistogram = 5;
constexpr std::uint32_t kValueTensor = 8;
constexpr std::uint32_t kTensorDtype = 1;
constexpr std::uint32_t kTensorShape = 2;
constexpr std::uint32_t kTensorContent = 4;
constexpr std::uint32_t kTensorFloats = 5;
constexpr std::uint32_t kTensorDoubles = 6;
constexpr std::uint32_t kHistogramMin = 1;
constexpr std::uint32_t kHistogramMax = 2;
constexpr std::uint32_t kHistogramNum = 3;
constexpr std::uint32_t kHistogramSum = 4;
constexpr std::uint32_t kHistogramSumSquares = 5;
constexpr std::uint32_t kHistogramLimits = 6;
constexpr std::uint32_t kHistogramCounts = 7;
constexpr std::uint32_t kImageHeight = 1;
constexpr std::uint32_t kImageWidth = 2;
constexpr std::uint32_t kImageChannels = 3;  // "colorspace": 1 is grey, 3 is RGB
constexpr std::uint32_t kImageEncoded = 4;
constexpr std::uint64_t kSessionStart = 1;
constexpr std::uint64_t kDtFloat = 1;
constexpr std::uint64_t kDtDouble = 2;

constexpr std::string_view kVersion = "brain.Event:2";

std::string framed(const ProtobufWriter& message) {
  const std::string& bytes = message.buffer();
  return frame_record(as_bytes(bytes));
}

// The value of a rank-0 float or double tensor; nothing for any other.
std::optional<float> scalar_of(ProtobufReader tensor) {
  std::uint64_t dtype = 0;
  bool ranked = false;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::span<const std::uint8_t> content;
  while (tensor.next()) {
    switch (tensor.field()) {
      case kTensorDtype: dtype = tensor.varint(); break;
      case kTensorShape: ranked = !tensor.bytes().empty(); break;  // TensorShapeProto: a field for each dimension
      case kTensorContent: content = tensor.bytes(); break;
      case kTensorFloats: tensor.append_to(floats); break;
      case kTensorDoubles: tensor.append_to(doubles); break;
      default: break;
    }
  }
  if (ranked) return std::nullopt;
  if (dtype == kDtFloat) {
    float value = 0;
    if (floats.size() == 1) return floats[0];
    if (content.size() != sizeof(value)) return std::nullopt;
    std::memcpy(&value, content.data(), sizeof(value));
    return value;
  }
  if (dtype == kDtDouble) {
    double value = 0;
    if (doubles.size() == 1) return static_cast<float>(doubles[0]);
    if (content.size() != sizeof(value)) return std::nullopt;
    std::memcpy(&value, content.data(), sizeof(value));
    return static_cast<float>(value);
  }
  return std::nullopt;
}

void read_value(ProtobufReader value, std::vector<ScalarEvent>& scalars) {
  ScalarEvent scalar;
  std::optional<float> number;
  while (value.next()) {
    switch (value.field()) {
      case kValueTag: scalar.tag = value.text(); break;
      case kValueSimple: number = value.f32(); break;
      case kValueTensor: number = scalar_of(value.message("TensorProto")); break;
      default: break;
    }
  }
  if (!number) return;
  scalar.value = *number;
  scalars.push_back(std::move(scalar));
}

bool starts_session(ProtobufReader session) {
  std::uint64_t status = 0;
  while (session.next()) {
    if (session.field() == kSessionStatus) status = session.varint();
  }
  return status == kSessionStart;
}

void read_event(ProtobufReader event, EventFileContent& content) {
  double wall_time = 0;
  std::int64_t step = 0;
  std::vector<ScalarEvent> scalars;
  std::optional<std::string> version;
  bool starts = false;
  while (event.next()) {
    switch (event.field()) {
      case kEventWallTime: wall_time = event.f64(); break;
      case kEventStep: step = event.int64(); break;
      case kEventFileVersion: version = event.text(); break;
      case kEventSession: starts = starts_session(event.message("SessionLog")); break;
      case kEventSummary: {
        ProtobufReader summary = event.message("Summary");
        while (summary.next()) {
          if (summary.field() == kSummaryValue) read_value(summary.message("Summary.Value"), scalars);
        }
        break;
      }
      default: break;
    }
  }
  if (version) {
    content.file_version = *version;
    content.file_time = wall_time;
  }
  if (starts) std::erase_if(content.scalars, [&](const ScalarEvent& scalar) { return scalar.step >= step; });
  for (ScalarEvent& scalar : scalars) {
    scalar.wall_time = wall_time;
    scalar.step = step;
    content.scalars.push_back(std::move(scalar));
  }
}

// Where to continue writing: the end of the last whole record.
std::uint64_t end_of_records(const std::string& path) {
  const TFRecordFile file(path, {.index_cache_directory = "", .keep_readable_prefix = true});
  if (file.compression() != Compression::none) throw Error("[event_file] " + path + " is compressed: cannot append");
  std::string storage;
  for (std::size_t i = 0; i < file.size(); ++i) file.record(i, storage);  // checks its bytes
  const std::optional<TFRecordDamage>& damage = file.damage();
  if (!damage) return file.offset(file.size());
  if (!damage->cut_short) throw Error(damage->message);
  return damage->byte;
}

}  // namespace

EventFileWriter::EventFileWriter(const std::string& path, double wall_time) : file_(path) {
  const std::uint64_t size = file_.size();
  if (size > 0) {
    const std::uint64_t end = end_of_records(path);
    if (end < size) file_.truncate(end);
    if (end > 0) return;
  }
  begin(wall_time);
}

void EventFileWriter::begin(double wall_time) {
  ProtobufWriter event;
  event.f64(kEventWallTime, wall_time);
  event.bytes(kEventFileVersion, kVersion);
  file_.append(framed(event));
}

// One event, whatever it holds.
void EventFileWriter::append(std::int64_t step, double wall_time, std::uint32_t field, std::string_view bytes) {
  if (file_.restore() && file_.size() == 0) begin(wall_time);
  ProtobufWriter event;
  event.f64(kEventWallTime, wall_time);
  if (step != 0) event.int64(kEventStep, step);  // as proto3 leaves out zeros
  event.bytes(field, bytes);
  file_.append(framed(event));
}

void EventFileWriter::add(std::int64_t step, double wall_time, std::span<const Scalar> scalars) {
  ProtobufWriter summary;
  for (const Scalar& scalar : scalars) {
    ProtobufWriter value;
    value.bytes(kValueTag, scalar.tag);
    value.f32(kValueSimple, scalar.value);
    summary.message(kSummaryValue, value);
  }
  append(step, wall_time, kEventSummary, summary.buffer());
}

void EventFileWriter::add_histogram(std::int64_t step, double wall_time, std::string_view tag,
                                    const EventHistogram& histogram) {
  if (histogram.count == 0) return;
  ProtobufWriter message;
  message.f64(kHistogramMin, histogram.least);
  message.f64(kHistogramMax, histogram.most);
  message.f64(kHistogramNum, histogram.count);
  message.f64(kHistogramSum, histogram.sum);
  message.f64(kHistogramSumSquares, histogram.sum_of_squares);
  message.packed(kHistogramLimits, histogram.limits);
  message.packed(kHistogramCounts, histogram.counts);
  ProtobufWriter value;
  value.bytes(kValueTag, tag);
  value.message(kValueHistogram, message);
  ProtobufWriter summary;
  summary.message(kSummaryValue, value);
  append(step, wall_time, kEventSummary, summary.buffer());
}

void EventFileWriter::add_picture(std::int64_t step, double wall_time, const Picture& picture) {
  ProtobufWriter message;
  message.int64(kImageHeight, picture.height);
  message.int64(kImageWidth, picture.width);
  message.int64(kImageChannels, picture.channels);
  message.bytes(kImageEncoded, {reinterpret_cast<const char*>(picture.encoded.data()), picture.encoded.size()});
  ProtobufWriter value;
  value.bytes(kValueTag, picture.tag);
  value.message(kValueImage, message);
  ProtobufWriter summary;
  summary.message(kSummaryValue, value);
  append(step, wall_time, kEventSummary, summary.buffer());
}

void EventFileWriter::add_graph(double wall_time, std::string_view graph_def) {
  append(0, wall_time, kEventGraph, graph_def);
}

EventHistogram histogram_of(std::span<const float> values, int parts) {
  EventHistogram histogram;
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const auto x = static_cast<double>(value);
    least = std::min(least, x);
    most = std::max(most, x);
    histogram.count += 1;
    histogram.sum += x;
    histogram.sum_of_squares += x * x;
  }
  if (histogram.count == 0) return histogram;
  histogram.least = least;
  histogram.most = most;
  const int count = most > least ? parts : 1;
  for (int i = 1; i < count; ++i) histogram.limits.push_back(least + (most - least) * i / count);
  histogram.limits.push_back(most);
  histogram.counts.assign(static_cast<std::size_t>(count), 0);
  const double scale = most > least ? count / (most - least) : 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const int part = std::clamp(static_cast<int>((static_cast<double>(value) - least) * scale), 0, count - 1);
    histogram.counts[static_cast<std::size_t>(part)] += 1;
  }
  return histogram;
}

void EventFileWriter::add(std::int64_t step, double wall_time, std::string_view tag, float value) {
  const Scalar scalar{tag, value};
  add(step, wall_time, std::span(&scalar, 1));
}

void EventFileWriter::start(std::int64_t step, double wall_time) {
  ProtobufWriter session;
  session.varint(kSessionStatus, kSessionStart);
  ProtobufWriter event;
  event.f64(kEventWallTime, wall_time);
  if (step != 0) event.int64(kEventStep, step);
  event.message(kEventSession, session);
  file_.append(framed(event));
}

EventFileWriter continue_events(const std::string& directory, double wall_time, std::string_view host,
                                const std::function<void(const std::string&)>& warn) {
  const std::filesystem::path folder(directory);
  const std::vector<std::string> earlier =
      glob_files((std::filesystem::path(glob_escape(directory)) / (std::string(kEventFilePrefix) + "*")).string());
  if (!earlier.empty()) {
    try {
      return {earlier.back(), wall_time};
    } catch (const Error& e) {
      warn(std::string(e.what()) + "; a new event file is begun");
    }
  }
  auto seconds = static_cast<std::int64_t>(wall_time);
  const auto name = [&] { return (folder / event_file_name(seconds, host)).string(); };
  std::error_code ignored;
  while (std::filesystem::exists(name(), ignored)) ++seconds;  // of this second, or by a clock that was ahead
  return {name(), wall_time};
}

std::string event_file_name(std::int64_t seconds, std::string_view host) {
  return kEventFilePrefix + std::to_string(seconds) + "." + std::string(host);
}

EventFileContent read_event_file(const std::string& path) {
  const TFRecordFile file(path, {.index_cache_directory = "", .keep_readable_prefix = true});
  EventFileContent content;
  if (const std::optional<TFRecordDamage>& damage = file.damage()) content.damage = damage->message;
  std::string storage;
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::span<const std::uint8_t> record;
    try {
      record = file.record(i, storage);
    } catch (const Error& e) {  // what follows a damaged record is not trusted
      content.damage = e.what();
      break;
    }
    try {
      read_event(ProtobufReader(record, "Event"), content);
    } catch (const Error& e) {
      throw Error("[event_file] " + path + ": record " + std::to_string(i) + " is no Event: " + e.what());
    }
  }
  return content;
}

}  // namespace ridgeline
