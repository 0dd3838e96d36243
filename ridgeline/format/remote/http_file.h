// ridgeline/format/remote/http_file.h
//
// A file at http:// or https://, read in pieces by range requests. A request that fails (a dropped or silent
// connection, a status of 5xx or 429, another range or length than asked for) is repeated from the byte that arrived
// last. What will not get better (404, an invalid certificate) is an Error at once. Errors are UnreachableErrors
// (core/unreachable_error.h): "[http] https://host/a.tar: bytes 512 to 1023: status 503, 5 tries".
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ridgeline/format/wire/stored_file.h"

namespace ridgeline {

struct HttpOptions {
  int tries = 5;                     // in sequence, that bring almost no bytes, before a read is an Error
  double stall_seconds = 20;         // without a byte (or a connection), after which a try has failed
  double first_wait_seconds = 0.25;  // before the second try; each further wait is twice as long, up to 8 s
};

// Connections, kept between requests and shared by files. Any thread; a child after fork() makes its own connections.
// Proxies are those of the environment (http_proxy, https_proxy, no_proxy), passwords those of ~/.netrc,
// CURL_CA_BUNDLE names another file of certificates than the system's.
class HttpClient {
 public:
  explicit HttpClient(const HttpOptions& options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  const HttpOptions& options() const { return options_; }
  // Requests that were made, those that failed among them.
  std::uint64_t requests() const;

 private:
  friend class HttpFile;
  class Connection;
  struct State;
  HttpOptions options_;
  std::unique_ptr<State> state_;
};

// Asks for size and version (ETag, Last-Modified), which must not change. A server that supports no ranges, does not
// tell the size, or sends compressed answers is an Error. Reads end within a second if stop_wanted() (core/stop.h).
class HttpFile : public StoredFile {
 public:
  HttpFile(const std::string& url, std::shared_ptr<HttpClient> client);
  ~HttpFile() override;

  const std::string& path() const override { return shown_; }
  std::uint64_t size() const override { return size_; }
  std::size_t read_some(std::uint64_t at, std::span<std::uint8_t> into) const override;
  std::string cut_short(std::uint64_t at, std::size_t got) const override;
  std::size_t read_ahead() const override { return std::size_t{1} << 20; }
  // Nothing where the server gives no version.
  std::optional<IndexedFile> indexed() const override;
  // From the ETag alone if there is one: it is that of the content, while what follows '?' may be a signature that is
  // new every day. Without an ETag, what follows '?' counts, since it may be what tells two files apart.
  std::uint64_t version() const override;

 private:
  struct Transfer;
  void request(Transfer& transfer) const;
  void fetch(Transfer& transfer) const;
  std::string version_of(const Transfer& transfer) const;

  std::string url_, shown_;
  std::shared_ptr<HttpClient> client_;
  std::uint64_t size_ = 0;
  std::string version_;
  bool open_ = false;
};

}  // namespace ridgeline
