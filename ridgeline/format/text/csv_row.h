// ridgeline/format/text/csv_row.h
//
// Writing tables of comma-separated values (RFC 4180). Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

// A cell as it is written: in quotes if it holds a comma, a quote or a line end. A text that a spreadsheet would
// evaluate as a formula (it begins with =, @, a tab, or with a sign and is no number) gets an apostrophe in front, by
// which spreadsheets recognise text.
std::string csv_cell(std::string_view text);
// With a line end, CR and LF.
std::string csv_row(const std::vector<std::string>& cells);

}  // namespace ridgeline
