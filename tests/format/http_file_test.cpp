#include "ridgeline/format/remote/http_file.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "ridgeline/core/stop.h"
#include "ridgeline/format/record/tar.h"
#include "ridgeline/format/remote/http_answer.h"
#include "ridgeline/format/remote/url.h"
#include "tests/support/files.h"
#include "tests/support/http_server.h"

namespace ridgeline {
namespace {

using Fault = HttpServer::Fault;
using Request = HttpServer::Request;

std::string noise(std::size_t bytes) {
  std::string text(bytes, '\0');
  std::uint32_t state = 1;
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

constexpr HttpOptions kQuick{.tries = 3, .stall_seconds = 1, .first_wait_seconds = 0.01};

std::string read(const HttpFile& file, std::uint64_t at, std::size_t bytes) {
  std::string text(bytes, '\0');
  text.resize(file.read_some(at, {reinterpret_cast<std::uint8_t*>(text.data()), bytes}));
  return text;
}

double seconds_of(const std::function<void()>& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Url, NamesKeepTheirSecretsAndRangesExpand) {
  EXPECT_TRUE(is_url("http://h/a.tar"));
  EXPECT_TRUE(is_url("HTTPS://h"));
  for (const char* none : {"http:/h", "https://", "ftp://h/a", "a/http://h", "/data/a.tar"}) EXPECT_FALSE(is_url(none));
  EXPECT_EQ(shown_url("https://me:secret@host:8080/d/a.tar?X-Key=1#2"), "https://host:8080/d/a.tar?...");
  EXPECT_EQ(shown_url("http://host/a@b.tar"), "http://host/a@b.tar");
  EXPECT_EQ(shown_url("http://host"), "http://host");
  EXPECT_EQ(expand_url("http://h/a.tar"), std::vector<std::string>{"http://h/a.tar"});
  EXPECT_EQ(expand_url("http://h/{8..11}.tar?k"), (std::vector<std::string>{"http://h/8.tar?k", "http://h/9.tar?k",
                                                                            "http://h/10.tar?k", "http://h/11.tar?k"}));
  EXPECT_EQ(expand_url("http://{1..2}/{000..001}"),
            (std::vector<std::string>{"http://1/000", "http://1/001", "http://2/000", "http://2/001"}));
  for (const char* bad : {"http://h/{}", "http://h/{1..}", "http://h/{2..1}", "http://h/{a,b}", "http://h/{1..2",
                          "http://h/1}", "http://h/{-1..2}", "http://h/{1..99999999999999999999}"}) {
    EXPECT_TRUE(contains(error_of([&] { expand_url(bad); }), "is no range of numbers like {000..146}")) << bad;
  }
  EXPECT_TRUE(contains(error_of([] { expand_url("http://h/{0..999}{0..1000}"); }), "more than 1000000 URLs"));
  EXPECT_TRUE(contains(error_of([] { expand_url("http://h/{0..18446744073709551615}"); }), "more than 1000000 URLs"));
}

TEST(HttpFile, AnyPartEqualsTheFile) {
  const std::string content = noise(300'000);
  const HttpServer server({{"a", content}, {"empty", ""}, {"one", "x"}});
  const auto client = std::make_shared<HttpClient>(kQuick);
  const HttpFile file(server.url("a"), client);
  EXPECT_EQ(file.size(), content.size());
  EXPECT_EQ(file.path(), server.url("a"));
  EXPECT_EQ(read(file, 0, content.size()), content);
  EXPECT_EQ(read(file, 1234, 1), content.substr(1234, 1));
  EXPECT_EQ(read(file, content.size() - 5, 100), content.substr(content.size() - 5));
  EXPECT_EQ(read(file, content.size(), 1), "");
  EXPECT_EQ(HttpFile(server.url("empty"), client).size(), 0U);
  EXPECT_EQ(HttpFile(server.url("one"), client).size(), 1U);
  EXPECT_EQ(client->requests(), 6U);  // nothing is requested twice, nothing after the end
}

struct Case {
  const char* name;
  Fault fault;
  const char* words;  // in the error if every request fails like this
};

std::vector<Case> passing_faults() {
  return {
      {"dropped", {.drop = true}, "Empty reply from server, 3 tries"},
      {"503", {.status = 503}, "status 503 (Service Unavailable), 3 tries"},
      {"429", {.status = 429, .headers = "Retry-After: 0\r\n"}, "status 429 (Some), 3 tries"},
      {"no ranges", {.whole_file = true}, "with the whole file (status 200), it knows no ranges, 3 tries"},
      {"another range", {.shift = 7}, "the answer holds bytes 57 to 106, 3 tries"},
      {"cut", {.cut = 5}, "with 35 bytes "},  // libcurl 8.14: "end of response with", before: "transfer closed with"
      {"too short", {.length = 5}, "only 5 of "},
      {"too long", {.length = 70}, "more bytes arrived than the answer announced, 3 tries"},
      {"silent", {.silence_ms = 60'000}, "Operation too slow. Less than 1 bytes/sec transferred the last 1 seconds, 3"},
      {"another version", {.etag = "2"}, "the file has changed since it was opened (ETag \""},
      {"no size", {.no_total = true}, "the file has an unknown number of bytes, it had 1000 when it was opened"},
  };
}

TEST(HttpFile, WhatFailsOnceIsTriedAgain) {
  const std::string content = noise(1000);
  for (const Case& c : passing_faults()) {
    SCOPED_TRACE(c.name);
    HttpServer server({{"a", content}},
                      [&](const Request& r) { return r.number == 1 || r.number == 2 ? c.fault : Fault{}; });
    const HttpFile file(server.url("a"), std::make_shared<HttpClient>(kQuick));
    EXPECT_EQ(read(file, 50, 50), content.substr(50, 50));
    EXPECT_EQ(server.requests(), 4);
  }
}

TEST(HttpFile, WhatFailsAlwaysIsAnErrorWithUrlBytesReasonAndTries) {
  const std::string content = noise(1000);
  for (const Case& c : passing_faults()) {
    SCOPED_TRACE(c.name);
    HttpServer server({{"a", content}}, [&](const Request& r) { return r.number >= 1 ? c.fault : Fault{}; });
    const HttpFile file(server.url("a"), std::make_shared<HttpClient>(kQuick));
    const std::string error = error_of([&] { read(file, 50, 50); });
    EXPECT_TRUE(error.starts_with("[http] " + server.url("a") + ": bytes 50 to 99: ")) << error;
    EXPECT_TRUE(contains(error, c.words)) << error;
    EXPECT_TRUE(contains(error, ", 3 tries")) << error;
  }
}

TEST(HttpFile, WhatWillNotGetBetterIsAnErrorAtOnce) {
  for (const auto& [status, words] : std::map<int, std::string>{{404, "status 404 (Not Found), 1 try"},
                                                                {403, "status 403 (Some), 1 try"},
                                                                {416, "status 416 (Some), 1 try"}}) {
    HttpServer server({{"a", "x"}}, [status = status](const Request&) { return Fault{.status = status}; });
    EXPECT_EQ(error_of([&] { HttpFile(server.url("a?key=1"), std::make_shared<HttpClient>(kQuick)); }),
              "[http] " + server.url("a?...") + ": bytes 0 to 0: " + words);
    EXPECT_EQ(server.requests(), 1);
  }
  HttpServer packed({{"a", "x"}}, [](const Request&) { return Fault{.headers = "Content-Encoding: gzip\r\n"}; });
  EXPECT_TRUE(contains(error_of([&] { HttpFile(packed.url("a"), std::make_shared<HttpClient>(kQuick)); }),
                       "the server sends it compressed (Content-Encoding gzip), 1 try"));
  HttpServer sizeless({{"a", "x"}}, [](const Request&) { return Fault{.no_total = true}; });
  EXPECT_TRUE(contains(error_of([&] { HttpFile(sizeless.url("a"), std::make_shared<HttpClient>(kQuick)); }),
                       "the server does not tell the size of the file"));
  EXPECT_TRUE(contains(error_of([] { HttpFile("http://127.0.0.1:1/a", std::make_shared<HttpClient>(kQuick)); }),
                       "[http] http://127.0.0.1:1/a: bytes 0 to 0: Failed to connect to 127.0.0.1 port 1"));
}

TEST(HttpFile, AConnectionThatDropsAgainAndAgainStillGetsTheFileAcross) {
  const std::string content = noise(2'000'000);
  HttpServer server({{"a", content}}, [](const Request&) { return Fault{.cut = 100'000}; });
  const HttpFile file(server.url("a"), std::make_shared<HttpClient>(kQuick));
  EXPECT_EQ(read(file, 0, content.size()), content);
  EXPECT_EQ(server.requests(), 21);  // each continues where the previous one ended
}

TEST(HttpFile, ASlowServerIsNoFault) {
  const std::string content = noise(100);
  HttpServer server({{"a", content}}, [](const Request&) { return Fault{.byte_every_ms = 20}; });
  const HttpFile file(server.url("a"), std::make_shared<HttpClient>(kQuick));
  EXPECT_EQ(read(file, 0, 100), content);
  EXPECT_EQ(server.requests(), 2);
}

TEST(HttpFile, WaitsEndWhenNobodyWantsTheResult) {
  HttpServer silent({{"a", "xyz"}}, [](const Request& r) { return Fault{.silence_ms = r.number ? 600'000 : 0}; });
  HttpServer busy({{"a", "xyz"}}, [](const Request& r) { return Fault{.status = r.number ? 503 : 0}; });
  for (const HttpServer* server : {&silent, &busy}) {
    const HttpFile file(server->url("a"), std::make_shared<HttpClient>(HttpOptions{
                                              .tries = 100, .stall_seconds = 600, .first_wait_seconds = 600}));
    std::atomic<bool> stop{false};
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      stop = true;
    });
    std::string error;
    EXPECT_LT(seconds_of([&] {
                const StopScope scope(stop);
                error = error_of([&] { read(file, 0, 3); });
              }),
              300);
    EXPECT_EQ(error, "[http] " + server->url("a") + ": stopped");
    later.join();
  }
}

TEST(HttpFile, AChildProcessMakesItsOwnConnections) {
  const std::string content = noise(1000);
  const HttpServer server({{"a", content}});
  const HttpFile file(server.url("a"), std::make_shared<HttpClient>(kQuick));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(read(file, 10, 100) == content.substr(10, 100) ? 0 : 1);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(read(file, 10, 100), content.substr(10, 100));
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(HttpAnswer, HeadersAreReadAsTheyAreMeant) {
  HttpAnswer answer;
  for (const char* line :
       {"HTTP/1.1 302 Found\r\n", "ETag: \"old\"\r\n", "HTTP/2 206 \r\n", "content-RANGE:bytes 5-9/10\r\n",
        "Last-Modified: Mon\r\n", "no header", "Retry-After: 3\r\n", "\r\n"})
    answer.line(line);
  EXPECT_EQ(answer.status, 206);
  EXPECT_EQ(answer.etag, "");
  EXPECT_EQ(answer.last_modified, "Mon");
  EXPECT_EQ(answer.retry_after, 3);
  EXPECT_FALSE(fault_of(answer, 5, 9));
  EXPECT_FALSE(fault_of(answer, 5, 20));
  EXPECT_TRUE(fault_of(answer, 4, 9));
  EXPECT_TRUE(fault_of(answer, 5, 8));
  for (const char* range :
       {"bytes 5/10", "bytes 9-5/10", "bytes -/10", "bytes 5-9", "bytes 5-x/10", "items 5-9/10", "bytes 5-9/x"}) {
    HttpAnswer odd;
    odd.line("HTTP/1.1 206 Partial");
    odd.line("Content-Range: " + std::string(range));
    const auto fault = fault_of(odd, 5, 9);
    EXPECT_TRUE(fault && contains(fault->text, "does not say which bytes")) << range;
  }
}

TEST(TarBehindUrl, HasTheMembersOfTheFileAndAnIndexOfItsVersion) {
  const TempFolder folder;
  const std::string path = folder.file("a.tar");
  {
    TarWriter writer(path);
    for (int i = 0; i < 40; ++i) writer.add(std::to_string(i) + ".jpg", noise(static_cast<std::size_t>(i * 2000 + 1)));
    writer.add("large.bin", noise(3'000'000));
    writer.add("last.txt", "end");
    writer.finish();
  }
  HttpServer server({{"a.tar", read_file(path)}});
  const TarFile local(path);
  const TarOptions options{.index_cache_directory = folder.path(), .http = std::make_shared<HttpClient>(kQuick)};
  const auto expect_equal = [&](const TarFile& remote) {
    ASSERT_EQ(remote.size(), local.size());
    std::string a, b;
    for (std::size_t i = 0; i < local.size(); ++i) {
      EXPECT_EQ(remote.name(i), local.name(i));
      EXPECT_EQ(as_text(remote.member(i, a)), as_text(local.member(i, b)));
    }
    // Several at the same time, in any order, one member twice: neighbours need only one request.
    const std::size_t wanted[] = {5, 41, 4, 5, 0};
    std::vector<std::span<const std::uint8_t>> contents;
    const int before = server.requests();
    remote.members(wanted, a, contents);
    EXPECT_EQ(server.requests() - before, 2);
    for (std::size_t i = 0; i < std::size(wanted); ++i)
      EXPECT_EQ(as_text(contents[i]), as_text(local.member(wanted[i], b)));
  };
  const TarFile first(server.url("a.tar"), options);
  EXPECT_FALSE(first.index_was_cached());
  EXPECT_LT(server.requests(), 8);  // 1.6 MB in pieces of 1 MiB, a jump over 3 MB, the end
  expect_equal(first);
  const int before = server.requests();
  const TarFile second(server.url("a.tar"), options);
  EXPECT_TRUE(second.index_was_cached());
  EXPECT_EQ(server.requests() - before, 1);
  expect_equal(second);
  // Another version of the file: another index, and an error for readers of the old one.
  std::string changed = read_file(path);
  changed[600] ^= 1;
  server.set_file("a.tar", changed);
  EXPECT_FALSE(TarFile(server.url("a.tar"), options).index_was_cached());
  std::string storage;
  EXPECT_TRUE(contains(error_of([&] { second.member(3, storage); }), "the file has changed since it was opened"));
}

// The part after '?' may identify the file, but names do not contain it; it may also be a signature that changes daily.
TEST(TarBehindUrl, FilesThatOnlyTheQueryTellsApartHaveIndexesOfTheirOwn) {
  const TempFolder folder;
  std::map<std::string, std::string> files;
  for (const char* which : {"1", "2"}) {
    const std::string path = folder.file("a.tar");
    TarWriter writer(path);
    for (int i = 0; i < 3; ++i) writer.add(which + std::string(static_cast<std::size_t>(i), 'x'), "same size");
    writer.finish();
    files[std::string("get?") + which] = read_file(path);
    std::filesystem::remove(path);
  }
  ASSERT_EQ(files["get?1"].size(), files["get?2"].size());
  for (const char* modified : {"", "Sun, 22 Nov 2026 10:00:00 GMT"}) {
    SCOPED_TRACE(modified);
    const HttpServer server(files, [&](const Request&) { return Fault{.last_modified = modified}; });
    const TarOptions options{.index_cache_directory = folder.path(), .http = std::make_shared<HttpClient>(kQuick)};
    for (const bool cached : {false, true}) {
      const TarFile one(server.url("get?1"), options), two(server.url("get?2"), options);
      EXPECT_EQ(one.index_was_cached(), cached);
      EXPECT_EQ(two.index_was_cached(), cached);
      EXPECT_EQ(one.name(0), "1");
      EXPECT_EQ(two.name(0), "2");
      EXPECT_NE(one.version(), two.version());
    }
  }
  // With an ETag the rest of the query does not matter.
  HttpServer signed_server({{"a.tar", files["get?1"]}});
  const TarOptions options{.index_cache_directory = folder.path(), .http = std::make_shared<HttpClient>(kQuick)};
  EXPECT_FALSE(TarFile(signed_server.url("a.tar?sign=1"), options).index_was_cached());
  EXPECT_TRUE(TarFile(signed_server.url("a.tar?sign=2"), options).index_was_cached());
}

TEST(TarBehindUrl, NoArchiveIsToldAsOfAFile) {
  HttpServer server({{"text", noise(2000)}, {"zip", "\x1f\x8b and more"}});
  const TarOptions options{.http = std::make_shared<HttpClient>(kQuick)};
  EXPECT_EQ(error_of([&] { TarFile(server.url("text"), options); }),
            "[tar] " + server.url("text") + ": header at byte 0 has a wrong checksum; is this a tar archive?");
  EXPECT_TRUE(contains(error_of([&] { TarFile(server.url("zip"), options); }), "the file is gzip-compressed"));
}

}  // namespace
}  // namespace ridgeline
