// A report as one HTML page: tables as HTML, curves drawn by the page's own script from the numbers inside the page.
#include <fmt/format.h>

#include <cmath>

#include "ridgeline/format/text/json_value.h"
#include "ridgeline/train/report/page.h"
#include "ridgeline/train/report/report.h"

namespace ridgeline::train {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

// A long table is folded, so that the results are seen first.
constexpr std::size_t kLongTable = 12;

std::string to_html(const ReportTable& table, bool first) {
  std::string out = "<section>";
  const bool folded = !first && table.rows.size() > kLongTable;
  if (folded)
    out += fmt::format("<details><summary>{} ({})</summary>", escaped(table.heading), table.rows.size());
  else
    out += "<h2>" + escaped(table.heading) + "</h2>";
  if (!table.note.empty()) out += "<p>" + escaped(table.note) + "</p>";
  out += "<div class=\"wide\"><table><thead><tr>";
  for (const std::string& column : table.columns) out += "<th>" + escaped(column) + "</th>";
  out += "</tr></thead><tbody>";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (const std::string& cell : row) out += "<td>" + escaped(cell) + "</td>";
    out += "</tr>";
  }
  out += "</tbody></table></div>";
  if (folded) out += "</details>";
  return out + "</section>\n";
}

// JSON has no numbers that are not finite; the script leaves gaps there.
JsonValue number(double value) { return std::isfinite(value) ? JsonValue(value) : JsonValue(); }

// One array a field: {"step": [...], "loss": [...], ...}.
template <class Point, class... Field>
JsonValue columns(const std::vector<Point>& points, const Field&... field) {
  JsonValue::Object object;
  const auto add = [&](const auto& named) {
    JsonValue::Array values;
    values.reserve(points.size());
    for (const Point& p : points) values.push_back(number(static_cast<double>(p.*(named.second))));
    object.push_back({named.first, JsonValue(std::move(values))});
  };
  (add(field), ...);
  return JsonValue(std::move(object));
}

std::string numbers_of(const std::vector<RunLog>& runs) {
  JsonValue::Array list;
  for (const RunLog& run : runs) {
    JsonValue::Object object;
    object.push_back({"name", JsonValue(run.name)});
    using P = TrainPoint;
    object.push_back({"steps", columns(run.steps, std::pair("step", &P::step), std::pair("epoch", &P::epoch),
                                       std::pair("time", &P::time), std::pair("loss", &P::loss),
                                       std::pair("lr", &P::lr), std::pair("rate", &P::images_per_second))});
    using E = EvaluationPoint;
    object.push_back({"evaluations",
                      columns(run.evaluations, std::pair("step", &E::step), std::pair("epoch", &E::epoch),
                              std::pair("time", &E::time), std::pair("top1", &E::top_1), std::pair("loss", &E::loss))});
    list.push_back(JsonValue(std::move(object)));
  }
  // Inside a script element "<" begins nothing but text of strings, where it may be written so.
  std::string text = to_json_text(JsonValue(std::move(list)));
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) text.replace(at, 1, "\\u003c");
  return text;
}

bool has_curves(const std::vector<RunLog>& runs) {
  for (const RunLog& run : runs)
    if (!run.steps.empty() || !run.evaluations.empty()) return true;
  return false;
}

}  // namespace

std::string to_html(const Report& report) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>" +
      escaped(report.title) + "</title>\n<style>" + kPageStyle + "</style></head>\n<body><main><h1>" +
      escaped(report.title) + "</h1>\n";
  if (!report.tables.empty()) out += to_html(report.tables.front(), true);
  if (!report.links.empty()) {
    out += "<section><h2>Pages with curves</h2><ul>";
    for (const ReportLink& link : report.links)
      out += "<li><a href=\"" + escaped(link.path) + "\">" + escaped(link.text) + "</a></li>";
    out += "</ul></section>\n";
  }
  if (has_curves(report.runs)) out += kPageCurves;
  for (std::size_t i = 1; i < report.tables.size(); ++i) out += to_html(report.tables[i], false);
  if (has_curves(report.runs)) {
    out += "<script type=\"application/json\" id=\"runs\">" + numbers_of(report.runs) + "</script>\n<script>";
    out += std::string(kPageScript) + "</script>\n";
  }
  return out + "</main></body></html>\n";
}

}  // namespace ridgeline::train
