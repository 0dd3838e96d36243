// Cells in the form that spreadsheets and programs read.
#include "ridgeline/format/text/csv_row.h"

#include <gtest/gtest.h>

namespace ridgeline {
namespace {

TEST(CsvRow, QuotesWhatWouldEndACell) {
  EXPECT_EQ(csv_row({"plain", "a,b", "say \"no\"", "two\nlines", ""}),
            "plain,\"a,b\",\"say \"\"no\"\"\",\"two\nlines\",\r\n");
}

TEST(CsvRow, NothingIsComputedByASpreadsheet) {
  EXPECT_EQ(csv_cell("="), "'=");
  EXPECT_EQ(csv_cell("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
  EXPECT_EQ(csv_cell("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(csv_cell("-2+cmd|' /C calc'!A0"), "'-2+cmd|' /C calc'!A0");
  EXPECT_EQ(csv_cell("+picture.jpg"), "'+picture.jpg");
  for (const char* number : {"-0.65 \xC2\xB1 2.68", "-1.5e-03", "+3 %", "-1"}) EXPECT_EQ(csv_cell(number), number);
  EXPECT_EQ(csv_cell("1=1"), "1=1");
}

}  // namespace
}  // namespace ridgeline
