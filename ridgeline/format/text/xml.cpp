#include "ridgeline/format/text/xml.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::size_t kMaxDepth = 64;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == ':' || (static_cast<unsigned char>(c) & 0x80u) != 0;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  XmlNode parse() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    while (at_ < text_.size()) {
      if (text_[at_] != '<') {
        characters();
      } else if (starts("<?")) {
        skip_to("?>");
      } else if (starts("<!--")) {
        skip_to("-->");
      } else if (starts("<!")) {
        fail(at_, "document types and CDATA sections are not read");
      } else if (starts("</")) {
        close();
      } else {
        open();
      }
    }
    if (!open_.empty()) fail(at_, "<" + open_.back().name + "> is never closed");
    if (!root_) fail(at_, "there is no element");
    return std::move(*root_);
  }

 private:
  [[noreturn]] void fail(std::size_t byte, const std::string& problem) const {
    throw Error(where_ + " byte " + std::to_string(byte) + ": " + problem);
  }
  bool starts(std::string_view prefix) const { return text_.substr(at_).starts_with(prefix); }
  void skip_to(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) fail(at_, "no '" + std::string(end) + "' follows");
    at_ = found + end.size();
  }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    if (at_ == begin) fail(begin, "a name is expected");
    return std::string(text_.substr(begin, at_ - begin));
  }

  void characters() {
    const std::size_t end = std::min(text_.find('<', at_), text_.size());
    const std::string_view run = text_.substr(at_, end - at_);
    if (open_.empty()) {
      if (const std::size_t other = run.find_first_not_of(kBlanks); other != std::string_view::npos)
        fail(at_ + other, "text outside of the element");
    } else {
      for (std::size_t i = 0; i < run.size(); ++i) {
        if (run[i] == '\0') fail(at_ + i, "embedded NUL");
        if (run[i] == '&') {
          i += entity(run.substr(i), at_ + i);
        } else {
          open_.back().text += run[i];
        }
      }
    }
    at_ = end;
  }

  // Appends the meaning of "&...;"; returns how many characters it has after the first.
  std::size_t entity(std::string_view run, std::size_t byte) {
    static constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
        {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}}};
    for (const auto& [spelled, character] : kEntities) {
      if (!run.starts_with(spelled)) continue;
      open_.back().text += character;
      return spelled.size() - 1;
    }
    const std::size_t end = run.find(';');
    std::string_view digits = run.substr(0, std::min(end, run.size()));
    std::uint32_t code = 0;
    if (digits.starts_with("&#") && end != std::string_view::npos) {
      digits.remove_prefix(2);
      const int base = digits.starts_with("x") ? 16 : 10;
      if (base == 16) digits.remove_prefix(1);
      const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
      if (error != std::errc{} || stop != digits.data() + digits.size()) code = 0;
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) fail(byte, "'&' of no known entity");
    append_utf8(open_.back().text, code);
    return end;
  }

  void open() {
    const std::size_t byte = at_++;
    if (open_.empty() && root_) fail(byte, "a second element");
    if (open_.size() >= kMaxDepth) fail(byte, "elements nest deeper than " + std::to_string(kMaxDepth) + " levels");
    open_.push_back({.name = name(), .text = {}, .children = {}, .byte = byte});
    while (true) {
      skip_blanks();
      if (starts("/>")) {
        at_ += 2;
        return end_element();
      }
      if (starts(">")) {
        ++at_;
        return;
      }
      attribute();
    }
  }

  void attribute() {
    if (at_ == text_.size()) fail(at_, "<" + open_.back().name + "> has no end");
    name();
    skip_blanks();
    if (!starts("=")) fail(at_, "an attribute without a value");
    ++at_;
    skip_blanks();
    if (!starts("\"") && !starts("'")) fail(at_, "an attribute's value without quotes");
    const char quote = text_[at_++];
    skip_to(std::string_view(&quote, 1));
  }

  void close() {
    const std::size_t byte = at_;
    at_ += 2;
    const std::string closed = name();
    skip_blanks();
    if (!starts(">")) fail(at_, "'>' is expected");
    ++at_;
    if (open_.empty() || open_.back().name != closed) {
      fail(byte, "</" + closed + "> closes no <" + closed + ">" +
                     (open_.empty() ? "" : "; <" + open_.back().name + "> is open"));
    }
    end_element();
  }

  void end_element() {
    XmlNode node = std::move(open_.back());
    open_.pop_back();
    const std::size_t begin = node.text.find_first_not_of(kBlanks);
    node.text =
        begin == std::string::npos ? "" : node.text.substr(begin, node.text.find_last_not_of(kBlanks) + 1 - begin);
    if (open_.empty()) {
      root_ = std::move(node);
    } else {
      open_.back().children.push_back(std::move(node));
    }
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::vector<XmlNode> open_;  // from the outermost to the innermost
  std::optional<XmlNode> root_;
};

}  // namespace

const XmlNode* XmlNode::find(std::string_view child) const {
  for (const XmlNode& node : children) {
    if (node.name == child) return &node;
  }
  return nullptr;
}

XmlNode parse_xml(std::string_view text, const std::string& where) { return Parser(text, where).parse(); }

}  // namespace ridgeline
