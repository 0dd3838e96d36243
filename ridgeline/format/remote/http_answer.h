// ridgeline/format/remote/http_answer.h
//
// The headers of a server's answer, and whether it is what was asked for. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ridgeline {

struct HttpAnswer {
  // One line as it arrived. A status line begins another answer: redirects give several.
  void line(std::string_view text);

  int status = 0;
  std::string reason;  // "Service Unavailable"; HTTP/2 has none
  bool has_range = false;
  std::uint64_t first = 0, last = 0;   // of Content-Range, both included
  std::optional<std::uint64_t> total;  // of the file
  std::string etag, last_modified, encoding;
  double retry_after = 0;  // seconds
};

// What is wrong with an answer; `final`: asking again will not help.
struct HttpFault {
  std::string text;
  bool final = false;
};

// An answer to the request for bytes `first` to `last` (both included). A range that ends earlier is no fault.
std::optional<HttpFault> fault_of(const HttpAnswer& answer, std::uint64_t first, std::uint64_t last);

}  // namespace ridgeline
