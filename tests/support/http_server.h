// tests/support/http_server.h
//
// A file server for tests on its own port of this machine, which fails on purpose. One thread per connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ridgeline {

class HttpServer {
 public:
  struct Request {
    int number = 0;  // counted over all connections, from 0
    std::string path;
    bool ranged = false;
    std::uint64_t first = 0, last = 0;  // as requested
  };
  // What it does instead of the correct behaviour.
  struct Fault {
    int status = 0;                          // this status, without content
    std::string headers = "";                // additional headers: "Retry-After: 1\r\n"
    bool drop = false;                       // closes the connection without a response
    bool whole_file = false;                 // ignores the Range header
    std::optional<std::size_t> cut = {};     // closes the connection after this many bytes of content
    std::optional<std::size_t> length = {};  // announces and sends this many bytes, with the requested range
    std::size_t shift = 0;                   // sends a range shifted by this many bytes, and says so
    int silence_ms = 0;                      // before the content, unless the server is stopped
    int byte_every_ms = 0;                   // the content byte by byte
    bool no_total = false;                   // "bytes 0-9/*"
    std::string etag = "";                   // another version
    std::string last_modified = "";          // this header instead of an ETag
  };

  // A file name may be "name?query". `fault` is called for every request, from the threads of the connections, one at a
  // time.
  explicit HttpServer(std::map<std::string, std::string> files, std::function<Fault(const Request&)> fault = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // "http://127.0.0.1:PORT/name". Not through a proxy of the environment.
  std::string url(const std::string& name) const;
  int requests() const { return requests_; }
  void set_file(const std::string& name, std::string content);

 private:
  void accept_all();
  void serve(int connection);
  bool answer(int connection, const std::string& head);
  bool pause(int ms) const;

  std::mutex mutex_;
  std::map<std::string, std::string> files_;
  std::function<Fault(const Request&)> fault_;
  std::atomic<int> requests_{0};
  std::atomic<bool> stop_{false};
  int socket_ = -1, port_ = 0;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace ridgeline
