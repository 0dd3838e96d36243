#include "ridgeline/format/remote/url.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

constexpr std::uint64_t kMostUrls = 1'000'000;

bool whole_number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

[[noreturn]] void no_range(const std::string& url, std::string_view range) {
  throw Error("[http] " + shown_url(url) + ": '" + std::string(range) + "' is no range of numbers like {000..146}");
}

// `text` is the rest of `url`.
std::vector<std::string> expand(const std::string& text, const std::string& url) {
  const std::size_t open = text.find('{'), close = text.find('}');
  if (open == std::string::npos && close == std::string::npos) return {text};
  if (open > close || close == std::string::npos) no_range(url, text.substr(std::min(open, close)));
  const std::string_view range = std::string_view(text).substr(open + 1, close - open - 1);
  const std::size_t dots = range.find("..");
  std::uint64_t low = 0, high = 0;
  if (dots == std::string_view::npos || !whole_number(range.substr(0, dots), low) ||
      !whole_number(range.substr(dots + 2), high) || low > high)
    no_range(url, std::string_view(text).substr(open, close - open + 1));
  const std::vector<std::string> rests = expand(text.substr(close + 1), url);
  if (high - low >= kMostUrls / rests.size())
    throw Error("[http] " + shown_url(url) + " stands for more than " + std::to_string(kMostUrls) + " URLs");
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i <= high - low; ++i) {
    std::string digits = std::to_string(low + i);
    if (digits.size() < dots) digits.insert(0, dots - digits.size(), '0');
    for (const std::string& rest : rests) texts.push_back(text.substr(0, open) + digits + rest);
  }
  return texts;
}

}  // namespace

bool is_url(std::string_view name) {
  const auto begins = [&](std::string_view scheme) {
    return name.size() > scheme.size() && std::equal(scheme.begin(), scheme.end(), name.begin(), [](char s, char c) {
             return s == (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
           });
  };
  return begins("http://") || begins("https://");
}

std::string shown_url(std::string_view url) {
  const std::size_t host = url.find("://") + 3;
  const std::size_t path = std::min(url.find_first_of("/?#", host), url.size());
  const std::size_t user = url.substr(host, path - host).rfind('@');
  const std::size_t query = std::min(url.find_first_of("?#", path), url.size());
  const std::size_t from = user == std::string_view::npos ? host : host + user + 1;
  return std::string(url.substr(0, host)) + std::string(url.substr(from, query - from)) +
         (query < url.size() && url[query] == '?' ? "?..." : "");
}

std::vector<std::string> expand_url(const std::string& url) { return expand(url, url); }

}  // namespace ridgeline
