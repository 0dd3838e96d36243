#include "ridgeline/format/drawing/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/core/utf8.h"
#include "ridgeline/format/drawing/layout.h"

namespace ridgeline::drawing {
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

double width_of(const std::vector<std::string>& lines) {
  std::size_t most = 0;
  for (const std::string& line : lines) most = std::max(most, characters(line));
  return static_cast<double>(most) * kPitch;
}

// The lines under a card's heading, as they are drawn.
std::vector<std::string> lines_of(const Card& card) {
  std::vector<std::string> lines;
  for (const std::string& text : card.lines) {
    for (std::string& line : wrap(text)) lines.push_back(std::move(line));
  }
  return lines;
}

LayoutBox box_of(const Card& card) {
  LayoutBox box{.inputs = card.inputs};
  const std::vector<std::string> lines = lines_of(card);
  const double heading = static_cast<double>(characters(card.heading) + characters(card.corner) + 2) * kPitch;
  box.width = std::ceil(std::max(heading, width_of(lines)) + 2 * kPad);
  box.height = kLine * static_cast<double>(lines.size() + 1) + 2 * kPad - 4;
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
      box.x, box.y, box.width, box.height, card.colour);
  const double left = box.x + kPad;
  double y = box.y + kPad + 10;
  out += text_at(left, y, card.heading, "font-weight=\"bold\"");
  out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#777\">{}</text>\n",
                     box.x + box.width - kPad, y, escape(card.corner));
  for (const std::string& line : lines_of(card)) out += text_at(left, y += kLine, line, "");
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

struct Drawn {
  double width = 0, height = 0;
  std::string body;
};

Drawn draw(const Panel& panel) {
  std::vector<LayoutBox> boxes;
  for (const Card& card : panel.cards) boxes.push_back(box_of(card));
  const Layout layout = place(std::move(boxes));
  Drawn drawn;
  double top = 0;
  if (!panel.title.empty()) {
    drawn.body += text_at(0, 14, panel.title, "font-size=\"16\" font-weight=\"bold\"");
    drawn.width = static_cast<double>(characters(panel.title)) * 16 * 0.61;
    top = 26;
  }
  for (const std::string& note : panel.notes) {
    for (const std::string& line : wrap(note)) {
      drawn.body += text_at(0, top + 10, line, "fill=\"#555\"");
      drawn.width = std::max(drawn.width, width_of({line}));
      top += kLine;
    }
  }
  if (top > 0) top += 14;
  const double shift = std::max(0.0, (drawn.width - layout.width) / 2);
  drawn.body += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n", shift, top);
  for (const LayoutArrow& arrow : layout.arrows) drawn.body += draw(arrow);
  double bottom = layout.height;
  for (std::size_t i = 0; i < panel.cards.size(); ++i) {
    const Card& card = panel.cards[i];
    const LayoutBox& box = layout.boxes[i];
    drawn.body += draw(card, box);
    if (!card.leaves) continue;
    const double middle = box.x + box.width / 2, end = box.y + box.height + std::max(box.label_height, 20.0);
    drawn.body += draw(LayoutArrow{.points = {{middle, box.y + box.height}, {middle, end}}});
    bottom = std::max(bottom, end);
  }
  drawn.body += "</g>\n";
  drawn.width = std::max(drawn.width, layout.width);
  drawn.height = top + bottom + 4;
  return drawn;
}

}  // namespace

std::string to_svg(std::span<const Panel> panels) {
  double x = kMargin, height = 0;
  std::string body;
  for (const Panel& panel : panels) {
    const Drawn drawn = draw(panel);
    if (x > kMargin) {
      body += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"100%\" stroke=\"#ccc\"/>\n", x, kMargin);
      x += kMargin;
    }
    body += fmt::format("<g transform=\"translate({:.1f} {})\">\n{}</g>\n", x, kMargin, drawn.body);
    x += drawn.width + kMargin;
    height = std::max(height, drawn.height);
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

}  // namespace ridgeline::drawing
