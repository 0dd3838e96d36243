// A report as Markdown and as CSV.
#include "ridgeline/format/text/csv_row.h"
#include "ridgeline/train/report/report.h"

namespace ridgeline::train {
namespace {

std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (char c : text) {
    if (c == '|' || c == '\\') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

void markdown_row(const std::vector<std::string>& cells, std::string& out) {
  out += "|";
  for (const std::string& cell : cells) out += " " + markdown_cell(cell) + " |";
  out += "\n";
}

}  // namespace

std::string to_markdown(const Report& report) {
  std::string out = "# " + report.title + "\n";
  if (!report.links.empty()) out += "\n";
  for (const ReportLink& link : report.links) out += "- [" + link.text + "](" + link.path + ")\n";
  for (const ReportTable& table : report.tables) {
    out += "\n## " + table.heading + "\n\n";
    if (!table.note.empty()) out += table.note + "\n\n";
    markdown_row(table.columns, out);
    markdown_row(std::vector<std::string>(table.columns.size(), "---"), out);
    for (const auto& row : table.rows) markdown_row(row, out);
  }
  return out;
}

std::string to_csv(const Report& report) {
  std::string out;
  for (const ReportTable& table : report.tables) {
    if (!out.empty()) out += "\r\n";
    out += csv_row({table.heading}) + csv_row(table.columns);
    for (const auto& row : table.rows) out += csv_row(row);
  }
  return out;
}

}  // namespace ridgeline::train
