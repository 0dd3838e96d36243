#include <chrono>
#include <thread>

#include "ridgeline/core/file.h"
#include "ridgeline/core/stop.h"
#include "ridgeline/core/unreachable_error.h"
#include "ridgeline/data/source/tar.h"
#include "ridgeline/data/source/tfrecord.h"
#include "ridgeline/format/record/tar.h"
#include "tests/data/helpers.h"
#include "tests/data/source_rules.h"
#include "tests/support/http_server.h"

namespace ridgeline::data::testing {
namespace {

using Fault = HttpServer::Fault;

// Three archives of ten samples, on disk and at URLs.
class TarUrls : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(dir_.path());
    ::setenv("XDG_CACHE_HOME", (dir_ / "cache").c_str(), 1);
    for (int shard = 0; shard < 3; ++shard) {
      const std::string name = "s-" + std::to_string(shard) + ".tar";
      TarWriter writer(dir_ / name);
      for (int i = 0; i < 10; ++i) {
        const std::string key = "d/" + std::to_string(100 * shard + i);
        writer.add(key + ".jpg", std::string(static_cast<std::size_t>(1000 + 177 * i), static_cast<char>('a' + i)));
        writer.add(key + ".cls", std::to_string(i));
        writer.add(key + ".txt", key);
      }
      writer.finish();
      files_[name] = read_file(dir_ / name);
    }
  }
  void TearDown() override { ::unsetenv("XDG_CACHE_HOME"); }
  Dataset local() const { return Tar({dir_ / "s-*.tar"}, kOptions); }
  static Dataset remote(const HttpServer& server) { return Tar({server.url("s-{0..2}.tar")}, kOptions); }

  static inline const TarOptions kOptions{.fields = {"txt"}, .num_classes = 10, .tries = 3, .stall_seconds = 1};
  TempDir dir_;
  std::map<std::string, std::string> files_;
};

TEST_F(TarUrls, GiveTheSamplesOfTheFiles) {
  const HttpServer server(files_);
  expect_rules(remote(server), 30);
  EXPECT_EQ(remote(server).hash(), local().hash());
  Iterator here(local().shuffle().batch(4, {.pad = true}), {.workers = 2, .epochs = 2});
  Iterator there(remote(server).shuffle().batch(4, {.pad = true}), {.workers = 5, .epochs = 2});
  EXPECT_EQ(digests(there), digests(here));
}

TEST_F(TarUrls, AServerThatFailsOftenChangesNoBit) {
  HttpServer server(files_, [](const HttpServer::Request& r) {
    switch (r.number % 9) {
      case 1: return Fault{.drop = true};
      case 3: return Fault{.status = 503};
      case 5: return Fault{.cut = 100};
      case 6: return Fault{.shift = 512};
      case 7: return Fault{.length = 13};
      default: return Fault{};
    }
  });
  const TarOptions patient{.fields = {"txt"}, .num_classes = 10, .tries = 12};
  const Dataset data = Tar({server.url("s-{0..2}.tar")}, patient).shuffle().batch(4, {.pad = true}).with_seed(3);
  Iterator here(local().shuffle().batch(4, {.pad = true}).with_seed(3), {.workers = 2});
  Iterator there(data, {.workers = 4});
  EXPECT_EQ(digests(there), digests(here));
}

TEST_F(TarUrls, ARunGoesOnInTheMiddleOfAnEpochFromTheOtherPlace) {
  const HttpServer server(files_);
  const auto batches = [](const Dataset& data) { return data.shuffle().batch(4, {.pad = true}).with_seed(8); };
  Iterator whole(batches(local()), {.epochs = 2});
  const std::vector<std::uint64_t> expected = digests(whole);
  Iterator first(batches(local()), {.epochs = 2});
  for (int i = 0; i < 5; ++i) first.next();
  const int before = server.requests();
  Iterator rest(batches(remote(server)), {.workers = 3, .epochs = 2, .start = first.state()});
  EXPECT_EQ(digests(rest), std::vector<std::uint64_t>(expected.begin() + 5, expected.end()));
  // A jump to the middle reads nothing else: 3 archives opened (version, index, its end), and one request per sample.
  EXPECT_LE(server.requests() - before, 9 + 40 + 3);
}

TEST_F(TarUrls, AFaultIsTheErrorOfItsSampleWithUrlByteStatusAndTries) {
  std::atomic<bool> broken{false};
  HttpServer server(files_, [&](const HttpServer::Request& r) {
    return Fault{.status = broken && r.path == "s-1.tar" && r.first == 0 && r.last > 0 ? 503 : 0};
  });
  const Dataset data = remote(server);
  ASSERT_EQ(data.size(), 30);
  broken = true;
  const std::string url = server.url("s-1.tar");
  EXPECT_EQ(run_error(data, 10), "[tar] " + url + ": sample 0 ('d/100') at byte 0: [http] " + url +
                                     ": bytes 0 to 3076: status 503 (Service Unavailable), 3 tries");
}

// A failing server is not a bad sample: if it were skipped, the sample would be missing unnoticed.
TEST_F(TarUrls, AFaultOfTheNetworkEndsTheRunUnderAnyPolicyAndTheRunGoesOnLater) {
  std::atomic<bool> broken{false};
  HttpServer server(
      files_, [&](const HttpServer::Request& r) { return Fault{.status = broken && r.path == "s-1.tar" ? 503 : 0}; });
  const Dataset data = remote(server).batch(4, {.pad = true});
  Iterator whole(data);
  const std::vector<std::uint64_t> expected = digests(whole);
  for (const BadSamplePolicy policy : {BadSamplePolicy::raise, BadSamplePolicy::skip, BadSamplePolicy::replace}) {
    SCOPED_TRACE(static_cast<int>(policy));
    broken = true;
    Iterator it(data, {.workers = 3, .bad_samples = {.policy = policy}});
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(it.next());
    EXPECT_THROW(it.next(), UnreachableError);  // row 10 is the first of the second archive
    EXPECT_THROW(it.next(), UnreachableError);
    EXPECT_EQ(it.bad_samples(), 0);
    broken = false;
    Iterator rest(data, {.start = it.state(), .bad_samples = {.policy = policy}});
    EXPECT_EQ(digests(rest), std::vector<std::uint64_t>(expected.begin() + 2, expected.end()));
  }
}

TEST_F(TarUrls, WhichRowsPassAFilterOrMakeABatchDoesNotDependOnTheNetwork) {
  std::atomic<bool> broken{false};
  HttpServer server(
      files_, [&](const HttpServer::Request& r) { return Fault{.status = broken && r.path == "s-1.tar" ? 503 : 0}; });
  const Dataset data = remote(server);
  ASSERT_EQ(data.size(), 30);
  broken = true;
  for (const Dataset& looking :
       {data.filter(compare("label", "less", 5)).batch(10, {.pad = true}), data.bucket("txt", {4}, {10, 10})}) {
    Iterator it(looking, {.workers = 2, .bad_samples = {.policy = BadSamplePolicy::skip}});
    EXPECT_THROW(while (it.next()){}, UnreachableError);
    EXPECT_EQ(it.bad_samples(), 0);
  }
}

TEST_F(TarUrls, AMissingShardAndABadRangeAreToldWhenOpened) {
  const HttpServer server(files_);
  EXPECT_ERROR(Tar({server.url("s-{0..4}.tar")}).size(),
               "[http] " + server.url("s-3.tar") + ": bytes 0 to 0: status 404 (Not Found), 1 try");
  EXPECT_ERROR(Tar({server.url("s-{0,4}.tar")}).size(), "'{0,4}' is no range of numbers like {000..146}");
  EXPECT_ERROR(TFRecord({server.url("a.tfrecord")}).size(),
               "[tfrecord] " + server.url("a.tfrecord") + ": of URLs, only tar archives are read (source tar)");
}

TEST_F(TarUrls, OpeningEndsWhenNobodyWantsItsResult) {
  HttpServer silent(files_, [](const HttpServer::Request&) { return Fault{.silence_ms = 60'000}; });
  const Dataset data = Tar({silent.url("s-{0..2}.tar")}, {.fields = {"txt"}, .stall_seconds = 1000});
  std::atomic<bool> stop{false};
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop = true;
  });
  {
    const StopScope scope(stop);
    EXPECT_ERROR(data.size(), "s-0.tar: stopped");
  }
  later.join();
}

TEST_F(TarUrls, AnIteratorEndsAtOnceWhileItsWorkersWaitForTheServer) {
  std::atomic<bool> silent{false};
  HttpServer server(files_, [&](const HttpServer::Request&) { return Fault{.silence_ms = silent ? 600'000 : 0}; });
  const Dataset data = Tar({server.url("s-{0..2}.tar")}, {.fields = {"txt"}, .tries = 100, .stall_seconds = 1000})
                           .batch(4, {.pad = true});
  ASSERT_EQ(data.size(), 8);
  silent = true;
  auto it = std::make_unique<Iterator>(data, IteratorOptions{.workers = 3});
  EXPECT_FALSE(it->wait_for(std::chrono::milliseconds(200)));
  const auto begin = std::chrono::steady_clock::now();
  it.reset();
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 300.0);
}

}  // namespace
}  // namespace ridgeline::data::testing
