#include "ridgeline/format/text/csv_row.h"

namespace ridgeline {
namespace {

// A function call needs letters: "-0.5 ± 0.2" computes nothing, "-2+cmd|..." might.
bool is_formula(std::string_view text) {
  if (text.empty()) return false;
  if (text[0] == '=' || text[0] == '@' || text[0] == '\t' || text[0] == '\r') return true;
  if (text[0] != '+' && text[0] != '-') return false;
  return text.find_first_not_of("0123456789.eE+- %\xC2\xB1") != std::string_view::npos;
}

}  // namespace

std::string csv_cell(std::string_view text) {
  std::string cell = is_formula(text) ? "'" : "";
  cell += text;
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string row;
  for (std::size_t i = 0; i < cells.size(); ++i) row += (i > 0 ? "," : "") + csv_cell(cells[i]);
  return row + "\r\n";
}

}  // namespace ridgeline
