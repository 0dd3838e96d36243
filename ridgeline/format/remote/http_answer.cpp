#include "ridgeline/format/remote/http_answer.h"

#include <charconv>

namespace ridgeline {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool same_name(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
    if (c != lower[i]) return false;
  }
  return true;
}

template <class T>
bool number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

// "bytes 0-99/1000", "bytes 0-99/*", "bytes */1000". What is none of these counts as missing.
void parse_range(std::string_view text, HttpAnswer& answer) {
  if (!text.starts_with("bytes ")) return;
  text = trimmed(text.substr(6));
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return;
  std::uint64_t total = 0;
  if (const std::string_view of = text.substr(slash + 1); number(of, total))
    answer.total = total;
  else if (of != "*")
    return;
  const std::string_view range = text.substr(0, slash);
  const std::size_t dash = range.find('-');
  answer.has_range = dash != std::string_view::npos && number(range.substr(0, dash), answer.first) &&
                     number(range.substr(dash + 1), answer.last) && answer.first <= answer.last;
}

}  // namespace

void HttpAnswer::line(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with("HTTP/")) {
    *this = {};
    const std::string_view rest = trimmed(text.substr(std::min(text.find(' '), text.size())));
    const std::size_t end = std::min(rest.find(' '), rest.size());
    number(rest.substr(0, end), status);
    reason = trimmed(rest.substr(end));
    return;
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = text.substr(0, colon), value = trimmed(text.substr(colon + 1));
  if (same_name(name, "content-range")) parse_range(value, *this);
  if (same_name(name, "etag")) etag = value;
  if (same_name(name, "last-modified")) last_modified = value;
  if (same_name(name, "content-encoding")) encoding = value;
  if (int seconds = 0; same_name(name, "retry-after") && number(value, seconds)) retry_after = seconds;
}

std::optional<HttpFault> fault_of(const HttpAnswer& answer, std::uint64_t first, std::uint64_t last) {
  if (answer.status == 200)
    return HttpFault{"the server answers a request for a part with the whole file (status 200), it knows no ranges"};
  if (answer.status != 206) {
    // Too slow a request, too many requests, too early: by their meaning, worth a retry.
    const bool passing = answer.status >= 500 || answer.status == 408 || answer.status == 425 || answer.status == 429;
    return HttpFault{
        "status " + std::to_string(answer.status) + (answer.reason.empty() ? "" : " (" + answer.reason + ")"),
        !passing};
  }
  if (!answer.encoding.empty() && !same_name(answer.encoding, "identity"))
    return HttpFault{"the server sends it compressed (Content-Encoding " + answer.encoding + ")", true};
  if (!answer.has_range) return HttpFault{"the answer does not say which bytes it holds (Content-Range)"};
  if (answer.first != first || answer.last > last) {
    return HttpFault{"the answer holds bytes " + std::to_string(answer.first) + " to " + std::to_string(answer.last)};
  }
  return std::nullopt;
}

}  // namespace ridgeline
