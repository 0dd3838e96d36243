#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/core/utf8.h"
#include "ridgeline/data/draw/facts.h"
#include "ridgeline/data/draw/layout.h"
#include "ridgeline/data/ir/registry.h"

namespace ridgeline::data {
namespace {

// A fixed pitch makes widths known without the font: 0.602 em in DejaVu Sans Mono and close to it in the others.
constexpr const char* kFont = "DejaVu Sans Mono, Menlo, Consolas, Liberation Mono, monospace";
constexpr double kSize = 12, kPitch = 0.61 * kSize, kLine = 16, kPad = 10, kMargin = 24;
constexpr std::size_t kWrap = 52;  // characters of a line in a box

// Text for XML: markup escaped; bytes that XML or UTF-8 do not allow become '?'.
std::string escape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(std::string_view(text).substr(i));
    const std::string_view character = std::string_view(text).substr(i, length);
    const bool control = length == 1 && static_cast<unsigned char>(text[i]) < 0x20 && text[i] != '\t';
    if (length == 0 || control || character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf") {  // U+FFFE, U+FFFF
      out += '?';
      i += std::max<std::size_t>(1, length);
      continue;
    }
    switch (text[i]) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += character;
    }
    i += length;
  }
  return out;
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Lines of at most kWrap characters, broken after ", " or "/" where there is one; further lines are indented.
std::vector<std::string> wrap(std::string text) {
  std::vector<std::string> lines;
  while (characters(text) > kWrap) {
    std::size_t cut = kWrap;
    for (std::size_t i = kWrap; i > kWrap / 2; --i) {
      if (text[i - 1] == ' ' || text[i - 1] == '/') {
        cut = i;
        break;
      }
    }
    while (cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) ++cut;
    lines.push_back(text.substr(0, cut));
    text = "    " + text.substr(cut);
  }
  lines.push_back(text);
  return lines;
}

const char* colour_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::source: return "#dcebfa";
    case NodeKind::order: return "#f0f0f0";
    case NodeKind::filter: return "#fae3e3";
    case NodeKind::map: return "#e3f4e0";
    case NodeKind::columns: return "#e0f3f3";
    case NodeKind::join: return "#f0e4f8";
    case NodeKind::cache: return "#fdf8d0";
    case NodeKind::batch: return "#fdecd6";
  }
  return "#ffffff";
}

struct Card {
  const Node* node = nullptr;
  std::vector<std::string> lines;  // under the heading
  std::vector<std::string> label;  // columns and rows
};

Card card_of(const Node& node, const NodeFacts& facts) {
  Card card{.node = &node, .lines = {}, .label = {}};
  const auto add = [&](const std::string& text) {
    for (std::string& line : wrap(text)) card.lines.push_back(line);
  };
  for (const std::string& text : facts.arguments) add(text);
  for (const std::string& text : facts.operations) add((text.starts_with('>') ? "  " : "· ") + text);
  for (const std::string& text : facts.extras) add(text);
  if (facts.schema) {
    for (const Column& column : *facts.schema) card.label.push_back(to_string({column}));
  }
  if (!facts.rows.empty()) card.label.push_back(facts.rows);
  return card;
}

double width_of(const std::vector<std::string>& lines) {
  std::size_t most = 0;
  for (const std::string& line : lines) most = std::max(most, characters(line));
  return static_cast<double>(most) * kPitch;
}

LayoutBox box_of(const Card& card) {
  LayoutBox box;
  const double heading = static_cast<double>(characters(card.node->op) + characters(card.node->id) + 2) * kPitch;
  box.width = std::ceil(std::max(heading, width_of(card.lines)) + 2 * kPad);
  box.height = kLine * static_cast<double>(card.lines.size() + 1) + 2 * kPad - 4;
  box.label_width = std::ceil(width_of(card.label));
  box.label_height = card.label.empty() ? 0 : kLine * static_cast<double>(card.label.size()) + 8;
  return box;
}

std::string text_at(double x, double y, const std::string& text, const char* style) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" xml:space=\"preserve\" {}>{}</text>\n", x, y, style,
                     escape(text));
}

std::string draw(const Card& card, const LayoutBox& box) {
  std::string out = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" fill=\"{}\" stroke=\"#555\"/>\n",
      box.x, box.y, box.width, box.height, colour_of(node_entry(card.node->op).kind));
  const double left = box.x + kPad;
  double y = box.y + kPad + 10;
  out += text_at(left, y, card.node->op, "font-weight=\"bold\"");
  out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#777\">{}</text>\n",
                     box.x + box.width - kPad, y, escape(card.node->id));
  for (const std::string& line : card.lines) out += text_at(left, y += kLine, line, "");
  y = box.y + box.height + 6;
  for (const std::string& line : card.label)
    out += text_at(box.x + box.width / 2 + 6, y += kLine - 2, line, "fill=\"#224488\" font-size=\"11\"");
  return out;
}

std::string draw(const LayoutArrow& arrow) {
  const auto& p = arrow.points;
  std::string path = fmt::format("M{:.1f} {:.1f}", p[0].x, p[0].y);
  for (std::size_t i = 1; i < p.size(); ++i) {
    if (i % 2 == 1) {
      path += fmt::format(" L{:.1f} {:.1f}", p[i].x, p[i].y);
    } else {
      const double middle = (p[i - 1].y + p[i].y) / 2;
      path += fmt::format(" C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", p[i - 1].x, middle, p[i].x, middle, p[i].x,
                          p[i].y);
    }
  }
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#333\" marker-end=\"url(#arrow)\"/>\n", path);
}

struct Panel {
  double width = 0, height = 0;
  std::string body;
};

Panel panel_of(const Drawing& drawing, const DrawOptions& options) {
  const std::map<std::string, NodeFacts> facts = facts_of(drawing.graph, options);
  std::vector<Card> cards;
  std::vector<LayoutBox> boxes;
  std::map<std::string, std::size_t> index;
  for (const Node& node : drawing.graph.nodes) {
    cards.push_back(card_of(node, facts.at(node.id)));
    LayoutBox box = box_of(cards.back());
    for (const std::string& input : node.inputs) box.inputs.push_back(index.at(input));
    index[node.id] = boxes.size();
    boxes.push_back(std::move(box));
  }
  const Layout layout = place(std::move(boxes));
  Panel panel;
  double top = 0;
  if (!drawing.title.empty()) {
    panel.body += text_at(0, 14, drawing.title, "font-size=\"16\" font-weight=\"bold\"");
    panel.width = static_cast<double>(characters(drawing.title)) * 16 * 0.61;
    top = 26;
  }
  for (const std::string& note : drawing.notes) {
    for (const std::string& line : wrap(note)) {
      panel.body += text_at(0, top + 10, line, "fill=\"#555\"");
      panel.width = std::max(panel.width, width_of({line}));
      top += kLine;
    }
  }
  if (top > 0) top += 14;
  const double shift = std::max(0.0, (panel.width - layout.width) / 2);
  panel.body += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n", shift, top);
  for (const LayoutArrow& arrow : layout.arrows) panel.body += draw(arrow);
  for (std::size_t i = 0; i < cards.size(); ++i) panel.body += draw(cards[i], layout.boxes[i]);
  // What leaves the graph.
  const LayoutBox& last = layout.boxes[index.at(drawing.graph.output().id)];
  const double end = last.y + last.height + std::max(last.label_height, 20.0);
  panel.body +=
      draw(LayoutArrow{.points = {{last.x + last.width / 2, last.y + last.height}, {last.x + last.width / 2, end}}});
  panel.body += "</g>\n";
  panel.width = std::max(panel.width, layout.width);
  panel.height = top + std::max(layout.height, end) + 4;
  return panel;
}

}  // namespace

std::string to_svg(const std::vector<Drawing>& drawings, const DrawOptions& options) {
  double x = kMargin, height = 0;
  std::string body;
  for (const Drawing& drawing : drawings) {
    const Panel panel = panel_of(drawing, options);
    if (x > kMargin) {
      body += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"100%\" stroke=\"#ccc\"/>\n", x, kMargin);
      x += kMargin;
    }
    body += fmt::format("<g transform=\"translate({:.1f} {})\">\n{}</g>\n", x, kMargin, panel.body);
    x += panel.width + kMargin;
    height = std::max(height, panel.height);
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
             "{1:.0f}\" font-family=\"{2}\" font-size=\"{3}\" fill=\"#222\">\n"
             "<defs><marker id=\"arrow\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" "
             "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 L10 5 L0 10 z\" fill=\"#333\"/></marker></defs>\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
             x, height + 2 * kMargin, kFont, kSize) +
         body + "</svg>\n";
}

std::string to_svg(const DataGraph& graph, const std::string& title, const DrawOptions& options) {
  return to_svg({Drawing{.title = title, .graph = graph}}, options);
}

}  // namespace ridgeline::data
