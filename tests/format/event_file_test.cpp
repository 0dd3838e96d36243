#include "ridgeline/format/record/event_file.h"

#include <bit>
#include <limits>

#include "ridgeline/format/record/tfrecord.h"
#include "ridgeline/format/wire/protobuf_wire.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

TEST(EventFile, ReadsWhatItWrites) {
  const TempFolder folder;
  const std::string path = folder.file(event_file_name(1700000000, "host"));
  EXPECT_TRUE(path.ends_with("/events.out.tfevents.1700000000.host"));
  EventFileWriter writer(path, 1700000000.5);
  writer.add(0, 1700000001.25, "loss", 6.9f);
  const std::array<EventFileWriter::Scalar, 2> both{{{"loss", 6.5f}, {"lr", 0.06f}}};
  writer.add(100, 1700000002, both);
  writer.add(1LL << 40, 1700000003, "loss", std::numeric_limits<float>::infinity());
  const EventFileContent content = read_event_file(path);  // the writer is still open, but everything is in the file
  EXPECT_EQ(content.file_version, "brain.Event:2");
  EXPECT_EQ(content.file_time, 1700000000.5);
  EXPECT_FALSE(content.damage.has_value());
  EXPECT_EQ(content.scalars,
            (std::vector<ScalarEvent>{{1700000001.25, 0, "loss", 6.9f},
                                      {1700000002, 100, "loss", 6.5f},
                                      {1700000002, 100, "lr", 0.06f},
                                      {1700000003, 1LL << 40, "loss", std::numeric_limits<float>::infinity()}}));
}

TEST(EventFile, ContinuesAnExistingFileAndCutsATornEnd) {
  const TempFolder folder;
  const std::string path = folder.file("events.out.tfevents.1.host");
  EventFileWriter(path, 1).add(1, 2, "a", 3);
  const std::string whole = read_file(path);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    put_file(path, std::string_view(whole).substr(0, n));
    const bool torn = n != 40 && n != 0;  // 40: the version record
    EXPECT_EQ(read_event_file(path).damage.has_value(), torn) << n;
    EventFileWriter(path, 1).add(2, 4, "b", 5);
    const EventFileContent content = read_event_file(path);
    ASSERT_FALSE(content.damage.has_value()) << *content.damage;
    ASSERT_EQ(content.file_version, "brain.Event:2");
    ASSERT_EQ(content.scalars, (std::vector<ScalarEvent>{{4, 2, "b", 5}})) << n;
  }
  put_file(path, whole);
  EventFileWriter(path, 1).add(2, 4, "b", 5);
  EXPECT_EQ(read_event_file(path).scalars.size(), 2u);
}

TEST(EventFile, ARunThatGoesOnAtAStepDropsWhatCameBeforeOfItAndLaterOnes) {
  const TempFolder folder;
  const std::string path = folder.file("events.out.tfevents.1.host");
  {
    EventFileWriter killed(path, 1);
    for (const std::int64_t step : {2, 4, 6}) killed.add(step, 2, "loss", static_cast<float>(step));
  }
  EventFileWriter writer(path, 3);
  writer.start(5, 3);
  writer.add(6, 4, "loss", 60);
  EXPECT_EQ(read_event_file(path).scalars,
            (std::vector<ScalarEvent>{{2, 2, "loss", 2}, {2, 4, "loss", 4}, {4, 6, "loss", 60}}));
  // tensorflow.Event {wall_time: 3, step: 5, session_log {status: START}}
  const TFRecordFile file(path, {.index_cache_directory = ""});
  std::string storage;
  const auto record = file.record(4, storage);
  EXPECT_EQ(std::string(record.begin(), record.end()),
            std::string("\x09\0\0\0\0\0\0\x08\x40\x10\x05\x3a\x02\x08\x01", 15));
}

TEST(EventFile, DamagedFileIsNotContinued) {
  const TempFolder folder;
  const std::string path = folder.file("events");
  EventFileWriter(path, 1).add(1, 2, "a", 3);
  std::string bytes = read_file(path);
  bytes[3] = 9;
  put_file(path, bytes);
  EXPECT_TRUE(contains(error_of([&] { EventFileWriter(path, 1); }), "wrong checksum of its length"));
  EXPECT_EQ(read_file(path), bytes);
}

// TensorBoard stops at the damage: anything appended after it would never be read.
TEST(EventFile, ADamagedOneIsLeftAndANewOneBegun) {
  const TempFolder folder;
  const std::string first = folder.file(event_file_name(100, "host"));
  EventFileWriter(first, 100).add(1, 2, "a", 3);
  const std::string whole = read_file(first);
  std::string flipped_length = whole, flipped_data = whole;
  flipped_length[3] ^= 1;
  flipped_data[flipped_data.size() - 6] ^= 1;
  for (const std::string& damaged : {flipped_length, flipped_data, whole + std::string(500, '\0'),
                                     std::string(64, '\0'), std::string("no records at all")}) {
    std::filesystem::remove_all(folder.path());
    std::filesystem::create_directory(folder.path());
    put_file(first, damaged);
    std::string warning;
    const auto warn = [&](const std::string& text) { warning = text; };
    continue_events(folder.path(), 100.5, "host", warn).add(2, 101, "b", 5);  // at the time of the damaged file
    EXPECT_TRUE(contains(warning, first)) << warning;
    EXPECT_TRUE(contains(warning, "a new event file is begun")) << warning;
    EXPECT_EQ(read_file(first), damaged) << "what it still tells is kept";
    const auto files = glob_files(folder.path() + "/events.*");
    ASSERT_EQ(files.size(), 2u);
    warning.clear();
    continue_events(folder.path(), 200, "host", warn).add(3, 201, "b", 6);
    EXPECT_EQ(warning, "");
    EXPECT_EQ(glob_files(folder.path() + "/events.*"), files) << "the new one is continued";
    EXPECT_EQ(read_event_file(files[1]).scalars, (std::vector<ScalarEvent>{{101, 2, "b", 5}, {201, 3, "b", 6}}));
  }
}

TEST(EventFile, IsFoundInFoldersWhoseNamesArePatterns) {
  const TempFolder folder;
  const std::string directory = folder.file("run[1]*");
  std::filesystem::create_directory(directory);
  for (const double time : {1.0, 2.0}) continue_events(directory, time, "host", {}).add(1, time, "a", 3);
  EXPECT_EQ(read_event_file(directory + "/" + event_file_name(1, "host")).scalars.size(), 2u);
}

TEST(EventFile, OneThatIsRemovedMeanwhileIsBegunAgain) {
  const TempFolder folder;
  const std::string directory = folder.file("log");
  std::filesystem::create_directory(directory);
  const std::string path = directory + "/" + event_file_name(1, "host");
  EventFileWriter writer(path, 1);
  writer.add(1, 2, "a", 3);
  std::filesystem::remove_all(directory);
  writer.add(2, 4, "b", 5);
  const EventFileContent content = read_event_file(path);
  EXPECT_EQ(content.file_version, "brain.Event:2");
  EXPECT_EQ(content.scalars, (std::vector<ScalarEvent>{{4, 2, "b", 5}}));
}

TEST(EventFile, ReadsTheTensorsOfTensorFlow2) {
  const TempFolder folder;
  const auto event_with = [](const ProtobufWriter& tensor) {
    ProtobufWriter value, summary, event;
    value.bytes(1, "t");
    value.message(8, tensor);
    summary.message(1, value);
    event.f64(1, 10);
    event.int64(2, 7);
    event.message(5, summary);
    return event.buffer();
  };
  const float number = 2.5f;
  ProtobufWriter by_content, by_list, as_double, vector, dim, shape;
  by_content.varint(1, 1);
  by_content.bytes(2, "");
  by_content.bytes(4, {reinterpret_cast<const char*>(&number), 4});
  by_list.varint(1, 1);
  by_list.packed(5, std::vector<float>{-1});
  as_double.varint(1, 2);
  as_double.f64(6, 0.5);
  dim.varint(1, 1);
  shape.message(2, dim);
  vector.varint(1, 1);
  vector.message(2, shape);
  vector.packed(5, std::vector<float>{9});
  const std::string path = folder.file("events");
  TFRecordWriter writer(path);
  for (const auto* tensor : {&by_content, &by_list, &as_double, &vector}) writer.write(event_with(*tensor));
  writer.close();
  EXPECT_EQ(read_event_file(path).scalars,
            (std::vector<ScalarEvent>{{10, 7, "t", 2.5f}, {10, 7, "t", -1}, {10, 7, "t", 0.5f}}));
}

TEST(EventFile, RecordsThatAreNoEventsAreRefused) {
  const TempFolder folder;
  const std::string path = folder.file("events");
  TFRecordWriter writer(path);
  writer.write("no event");
  writer.close();
  EXPECT_TRUE(contains(error_of([&] { read_event_file(path); }), "[event_file] " + path + ": record 0 is no Event: "));
}

// Nine files that PyTorch wrote: read, and written again with the same bytes.
TEST(EventFileRealData, WritesTheSameBytesAsPyTorch) {
  const std::string runs = pack_path("golden/tensorboard-events/tests/runs");
  SKIP_WITHOUT(runs);
  const auto files = glob_files(runs + "/*/*/events.out.tfevents.*");
  ASSERT_EQ(files.size(), 9u);
  const TempFolder folder;
  for (const std::string& path : files) {
    SCOPED_TRACE(path);
    const EventFileContent content = read_event_file(path);
    EXPECT_EQ(content.file_version, "brain.Event:2");
    EXPECT_FALSE(content.damage.has_value());
    const std::string copy = folder.file("copy");
    std::filesystem::remove(copy);
    EventFileWriter writer(copy, content.file_time);
    for (const ScalarEvent& s : content.scalars) writer.add(s.step, s.wall_time, s.tag, s.value);
    EXPECT_EQ(read_file(copy), read_file(path));
  }
}

TEST(EventFileRealData, ScalarsOfARunAreThere) {
  const std::string path = pack_path(
      "golden/tensorboard-events/tests/runs/strict/run_1/events.out.tfevents.1622543341.janoshs-mbp.lan.86862.0");
  SKIP_WITHOUT(path);
  const auto scalars = read_event_file(path).scalars;
  ASSERT_EQ(scalars.size(), 100u);
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    EXPECT_EQ(scalars[i].tag, "strict/foo");
    EXPECT_EQ(scalars[i].step, static_cast<std::int64_t>(5 * i));
  }
  EXPECT_EQ(scalars[0].value, std::bit_cast<float>(0x3fbf8556u));  // as in a dump of the file
}

TEST(EventFile, AHistogramCountsEveryFiniteValueOnce) {
  const std::vector<float> values{-1, 0, 0.5f, 3, std::numeric_limits<float>::quiet_NaN(), -0.25f};
  const EventHistogram histogram = histogram_of(values, 4);
  EXPECT_EQ(histogram.limits, (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(histogram.counts, (std::vector<double>{2, 2, 0, 1}));
  EXPECT_EQ(histogram.count, 5);
  EXPECT_EQ(histogram.least, -1);
  EXPECT_EQ(histogram.most, 3);
  EXPECT_EQ(histogram.sum, 2.25);
  EXPECT_EQ(histogram.sum_of_squares, 1 + 0.25 + 9 + 0.0625);
  const EventHistogram equal = histogram_of(std::vector<float>{2, 2}, 4);
  EXPECT_EQ(equal.limits, std::vector<double>{2});
  EXPECT_EQ(equal.counts, std::vector<double>{2});
  EXPECT_EQ(histogram_of({}, 4).count, 0);
}

TEST(EventFile, OtherEventsStandBesideScalars) {
  const TempFolder folder;
  const std::string path = folder.file("events.out.tfevents.1.host");
  EventFileWriter writer(path, 1);
  writer.add_graph(1, "graph");
  writer.add(2, 3, "loss", 4);
  const std::vector<float> values{1, 2, 3};
  writer.add_histogram(2, 3, "w", histogram_of(values, 2));
  writer.add_histogram(2, 3, "none", histogram_of({}, 2));  // leaves no event
  const std::vector<std::uint8_t> encoded{1, 2, 3};
  writer.add_picture(2, 3, {.tag = "p", .height = 4, .width = 5, .channels = 3, .encoded = encoded});
  EXPECT_EQ(read_event_file(path).scalars, (std::vector<ScalarEvent>{{3, 2, "loss", 4}}));
  const TFRecordFile file(path, {.index_cache_directory = ""});
  EXPECT_EQ(file.size(), 5u);  // the version, the graph, and three
  std::string storage;
  ProtobufReader event(file.record(3, storage), "Event");
  while (event.next() && event.field() != 5) {
  }
  ProtobufReader summary = event.message("Summary");
  ASSERT_TRUE(summary.next());
  ProtobufReader value = summary.message("Value");
  ASSERT_TRUE(value.next());
  EXPECT_EQ(value.text(), "w");
  ASSERT_TRUE(value.next());
  EXPECT_EQ(value.field(), 5u);
  ProtobufReader histogram = value.message("HistogramProto");
  std::vector<double> limits, counts;
  while (histogram.next()) {
    if (histogram.field() == 6) histogram.append_to(limits);
    if (histogram.field() == 7) histogram.append_to(counts);
  }
  EXPECT_EQ(limits, (std::vector<double>{2, 3}));
  EXPECT_EQ(counts, (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace ridgeline
