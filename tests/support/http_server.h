// tests/support/http_server.h
//
// A server of files for tests, on a port of its own of this machine, that fails on purpose. One thread a connection.
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
    std::uint64_t first = 0, last = 0;  // as asked for
  };
  // What is done instead of the right thing.
  struct Fault {
    int status = 0;                          // this one, without content
    std::string headers = "";                // further ones: "Retry-After: 1\r\n"
    bool drop = false;                       // closes the connection without an answer
    bool whole_file = false;                 // as if it knew no ranges
    std::optional<std::size_t> cut = {};     // closes the connection behind so many bytes of content
    std::optional<std::size_t> length = {};  // announces and sends so many bytes, under the range that was asked for
    std::size_t shift = 0;                   // gives a range so many bytes further on, and says so
    int silence_ms = 0;                      // before the content, unless the server is stopped
    int byte_every_ms = 0;                   // the content byte by byte
    bool no_total = false;                   // "bytes 0-9/*"
    std::string etag = "";                   // another version
    std::string last_modified = "";          // this instead of a version by ETag
  };

  // A file may be called "name?query". `fault` is asked for every request, from the connections' threads, one at a
  // time.
  explicit HttpServer(std::map<std::string, std::string> files, std::function<Fault(const Request&)> fault = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // "http://127.0.0.1:PORT/name". Without the environment's proxy.
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
