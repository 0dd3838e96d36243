#include <cctype>
#include <charconv>
#include <map>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/text.h"

namespace ridgeline {
namespace {

// Each function holds its callees, so that a few lines can come to more than memory holds.
constexpr std::size_t kMostCopiedOps = std::size_t{1} << 20;

// Recursive descent over characters; skips blanks and comments between tokens and counts lines for errors.
class Parser {
 public:
  Parser(std::string_view text, std::string_view file, ParseOptions options)
      : text_(text), file_(file), options_(options) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // the byte order mark that some editors write
  }

  Graph module() {
    std::map<std::string, Graph> functions;
    while (accept_word("func")) {
      Graph f = body(functions);
      std::string name = f.name;
      functions.insert_or_assign(std::move(name), std::move(f));
    }
    expect_word("graph");
    Graph graph = body(functions);
    skip();
    if (at_ != text_.size()) fail("the end of the text");
    return graph;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) {
    std::string found(text_.substr(at_, 20));
    if (const std::size_t end = found.find('\n'); end != std::string::npos) found.resize(end);
    refuse(line_,
           "expected " + expected + (found.empty() ? " at the end of the line" : " before '" + printable(found) + "'"));
  }
  [[noreturn]] void refuse(int line, const std::string& what) {
    throw Error("[graph text] " + std::string(file_) + " line " + std::to_string(line) + ": " + what);
  }
  // Adds the line to what the rest of the library refuses.
  template <class F>
  auto on_line(int line, F&& made) {
    try {
      return made();
    } catch (const Error& error) {
      refuse(line, error.what());
    }
  }
  void skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') ++line_;
      if (std::isspace(static_cast<unsigned char>(text_[at_])))
        ++at_;
      else if (text_[at_] == '#')
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      else
        break;
    }
  }
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("'") + c + "'");
  }
  static bool name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/' || c == '-';
  }
  std::string word(const char* what) {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && name_char(text_[at_])) ++at_;
    if (at_ == begin) fail(what);
    return std::string(text_.substr(begin, at_ - begin));
  }
  bool accept_word(std::string_view wanted) {
    skip();
    const std::size_t end = at_ + wanted.size();
    if (text_.substr(at_, wanted.size()) != wanted || (end < text_.size() && name_char(text_[end]))) return false;
    at_ = end;
    return true;
  }
  void expect_word(std::string_view wanted) {
    if (!accept_word(wanted)) fail("'" + std::string(wanted) + "'");
  }
  std::string quoted() {
    expect('"');
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size()) value += text_[at_++];
    }
    expect('"');
    return value;
  }
  std::int64_t integer() {
    skip();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{}) fail("an integer");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  // An integer, or a real when it has a point, an exponent, or is inf or nan.
  Attribute number() {
    skip();
    std::size_t end = at_;
    while (end < text_.size() && (name_char(text_[end]) || text_[end] == '+')) ++end;
    const std::string_view token = text_.substr(at_, end - at_);
    const bool real = token.find_first_of(".einf") != std::string_view::npos;
    Attribute result;
    std::from_chars_result parsed{};
    if (real) {
      double value = 0;
      parsed = std::from_chars(token.data(), token.data() + token.size(), value);
      result = value;
    } else {
      std::int64_t value = 0;
      parsed = std::from_chars(token.data(), token.data() + token.size(), value);
      result = value;
    }
    if (token.empty() || parsed.ec != std::errc{} || parsed.ptr != token.data() + token.size()) fail("a number");
    at_ = end;
    return result;
  }
  Attribute attribute() {
    skip();
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    if (accept_word("true")) return true;
    if (accept_word("false")) return false;
    if (accept('[')) return list();
    const std::size_t begin = at_;
    if (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_]))) {
      if (const auto dtype = parse_dtype(word("a value"))) return *dtype;
      at_ = begin;
    }
    return number();
  }
  Attribute list() {
    if (accept_word("real")) {
      expect(']');
      return std::vector<double>{};
    }
    std::vector<std::int64_t> integers;
    std::vector<double> reals;
    if (!accept(']')) {
      do {
        const Attribute item = number();
        if (const auto* real = std::get_if<double>(&item))
          reals.push_back(*real);
        else
          integers.push_back(std::get<std::int64_t>(item));
      } while (accept(','));
      expect(']');
    }
    if (!reals.empty() && !integers.empty()) fail("a list of one kind of numbers");
    if (!reals.empty()) return reals;
    return integers;
  }
  ValueType type() {
    const std::string name = word("a type such as f32[2,3]");
    const auto dtype = parse_dtype(name);
    if (!dtype) fail("a type such as f32[2,3] instead of '" + name + "'");
    expect('[');
    std::vector<std::int64_t> dims;
    if (!accept(']')) {
      do {
        dims.push_back(integer());
        if (dims.back() < 0) fail("a size of 0 or more");
      } while (accept(','));
      expect(']');
    }
    return on_line(line_, [&] {
      ValueType made{*dtype, Shape(std::move(dims))};
      if (made.dtype != DType::bytes) made.bytes();  // an Error where they are too many to be counted
      return made;
    });
  }
  ValueKind kind(ValueKind fallback) {
    for (ValueKind k : {ValueKind::input, ValueKind::param, ValueKind::state, ValueKind::grad, ValueKind::activation}) {
      if (accept_word(name_of(k))) return k;
    }
    return fallback;
  }
  ValueId use(const std::map<std::string, ValueId>& names) {
    expect('%');
    const std::string name = word("a value name");
    const auto it = names.find(name);
    if (it == names.end()) fail("a value that is defined above, not %" + name + ",");
    return it->second;
  }

  Graph body(const std::map<std::string, Graph>& functions) {
    Graph graph;
    std::map<std::string, ValueId> names;
    std::map<std::string, int> counts;
    std::set<std::string> called;
    expect('@');
    graph.name = word("a graph name");
    expect('(');
    if (!accept(')')) {
      do {
        expect('%');
        std::string name = word("an argument name");
        expect(':');
        const ValueKind k = kind(ValueKind::input);
        const ValueId id = graph.add_value({type(), k, name});
        graph.arguments.push_back(id);
        if (!names.emplace(name, id).second) fail("a new name instead of %" + name + ",");
      } while (accept(','));
      expect(')');
    }
    expect('{');
    while (!accept('}')) {
      if (accept_word("update")) {
        Update update;
        update.current = use(names);
        expect('=');
        update.next = use(names);
        graph.updates.push_back(update);
      } else if (accept_word("return")) {
        do {
          Return r;
          r.value = use(names);
          skip();
          if (at_ < text_.size() && text_[at_] == '"') r.name = quoted();
          graph.returns.push_back(r);
        } while (accept(','));
      } else {
        node(graph, names, counts, functions, called);
      }
    }
    std::size_t ops = 1 + graph.nodes.size();
    for (const std::string& name : called) {
      ops += sizes_.at(name);
      copied_ += sizes_.at(name);
      if (copied_ > kMostCopiedOps)
        refuse(line_, "functions that call each other come to more than " + std::to_string(kMostCopiedOps) + " ops");
      graph.functions.emplace(name, functions.at(name));
    }
    sizes_[graph.name] = ops;
    return graph;
  }

  void node(Graph& graph, std::map<std::string, ValueId>& names, std::map<std::string, int>& counts,
            const std::map<std::string, Graph>& functions, std::set<std::string>& called) {
    Node node;
    std::vector<std::string> results;
    do {
      expect('%');
      results.push_back(word("a value name"));
      if (names.contains(results.back())) fail("a new name instead of %" + results.back() + ",");
    } while (accept(','));
    expect('=');
    node.op = word("an op name");
    const int line = line_;
    const OpDef* found = on_line(line, [&] { return &op_def(node.op); });
    const OpDef& def = *found;
    expect('(');
    if (!accept(')')) {
      do node.inputs.push_back(use(names));
      while (accept(','));
      expect(')');
    }
    Attributes given;
    if (accept('{')) {
      if (node.op == "loop") {
        skip();
        const std::size_t end = text_.find('}', at_);
        if (end == std::string_view::npos) fail("'}'");
        std::string expression(text_.substr(at_, end - at_));
        while (!expression.empty() && std::isspace(static_cast<unsigned char>(expression.back())))
          expression.pop_back();
        at_ = end + 1;
        given.set("expression", expression);
      } else if (!accept('}')) {
        do {
          std::string name = word("an attribute name");
          expect('=');
          given.set(std::move(name), attribute());
        } while (accept(','));
        expect('}');
      }
    }
    node.attributes = on_line(line, [&] { return complete_attributes(def, given); });
    if (def.has(kCall)) {
      const std::string& callee = node.attributes.string("function");
      if (!functions.contains(callee)) fail("a call of a function that is defined above, not @" + callee + ",");
      called.insert(callee);
    }
    expect(':');
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i) expect(',');
      const ValueKind k = kind(ValueKind::activation);
      node.outputs.push_back(graph.add_value({type(), k, ""}));
      names.emplace(results[i], node.outputs.back());
    }
    node.name = numbered_name(node.op, counts[node.op]++);
    if (accept_word("name")) node.name = quoted();
    while (accept_word("loc")) {
      Location at;
      expect('(');
      at.file = quoted();
      expect(':');
      at.line = static_cast<std::uint32_t>(integer());
      at.function = quoted();
      expect(')');
      node.where.push_back(std::move(at));
    }
    if (options_.lines && node.where.empty())
      node.where.push_back({std::string(file_), static_cast<std::uint32_t>(line), graph.name});
    graph.nodes.push_back(std::move(node));
  }

  std::string_view text_;
  std::string_view file_;
  ParseOptions options_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::map<std::string, std::size_t> sizes_;  // of functions: ops, those of their callees included
  std::size_t copied_ = 0;                    // ops of callees, once for each function that calls them
};

}  // namespace

Graph parse_graph(std::string_view text, std::string_view file, ParseOptions options) {
  return Parser(text, file, options).module();
}

}  // namespace ridgeline
