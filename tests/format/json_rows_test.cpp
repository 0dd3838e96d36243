#include "ridgeline/format/text/json_rows.h"

#include "tests/support/files.h"

namespace ridgeline {
namespace {

const std::vector<JsonColumn> kColumns{{"file", JsonKind::text},
                                       {"label", JsonKind::integer},
                                       {"weight", JsonKind::real, false},
                                       {"box", JsonKind::reals, false}};

class JsonRows : public ::testing::Test {
 protected:
  std::string error(std::string_view content, const JsonRowsOptions& options = {}) {
    put_file(path_, content);
    const std::string message = error_of([&] {
      const JsonRowsFile file(path_, kColumns, options);
      for (std::size_t i = 0; i < file.size(); ++i) file.row(i);
    });
    const std::string where = "[json_rows] " + path_ + ": ";
    EXPECT_TRUE(message.empty() || message.starts_with(where)) << message;
    return message.empty() ? "" : message.substr(where.size());
  }

  TempFolder folder_;
  std::string path_ = folder_.file("rows.jsonl");
};

TEST_F(JsonRows, ReadsAnyRowInAnyOrder) {
  put_file(path_,
           "{\"file\":\"a.jpg\",\"label\":3}\r\n\n"
           "{\"box\":[1,2.5,3,4],\"label\":-1,\"weight\":2,\"file\":\"b\\n.jpg\"}\n"
           "{\"file\":\"c\",\"label\":0,\"weight\":null}");
  const JsonRowsFile file(path_, kColumns);
  ASSERT_EQ(file.size(), 3u);
  EXPECT_EQ(file.line(1), 3u);
  EXPECT_EQ(file.row(2), (std::vector<JsonCell>{"c", std::int64_t{0}, {}, {}}));
  EXPECT_EQ(file.row(1), (std::vector<JsonCell>{"b\n.jpg", std::int64_t{-1}, 2.0, std::vector<double>{1, 2.5, 3, 4}}));
  EXPECT_EQ(file.row(0), (std::vector<JsonCell>{"a.jpg", std::int64_t{3}, {}, {}}));
}

TEST_F(JsonRows, WrongRowsAreNamedWithKeyAndLine) {
  EXPECT_EQ(error("{\"file\":\"a\",\"label\":1}\n\n{\"file\":\"a\"}\n"), "row 1, line 3: key 'label' is missing");
  EXPECT_EQ(error("{\"file\":\"a\",\"label\":\"1\"}"), "row 0, line 1: key 'label' is text, an integer is wanted");
  EXPECT_EQ(error("{\"file\":\"a\",\"label\":1.5}"), "row 0, line 1: key 'label' is a real, an integer is wanted");
  EXPECT_EQ(error("{\"file\":\"a\",\"label\":null}"), "row 0, line 1: key 'label' is a null, an integer is wanted");
  EXPECT_EQ(error("{\"file\":\"a\",\"label\":1,\"box\":[1,\"2\"]}"),
            "row 0, line 1: key 'box' is an array, an array of reals is wanted");
  EXPECT_EQ(error("{\"file\":\"a\",\"label\":1,\"boxx\":[]}"),
            "row 0, line 1: unknown key 'boxx': did you mean 'box'? (the columns are: file label weight box)");
  EXPECT_EQ(error("{\"file\":\"a\",\"label\":1,\"boxx\":{\"a\":[{}]}}", {.allow_unknown_keys = true}), "");
  EXPECT_EQ(error("[1]\n"), "row 0, line 1: the line is no object");
  EXPECT_TRUE(contains(error("{\"file\":\"a\",\"label\":1}\n{\"file\":\n"),
                       "row 1, line 2: the line is no valid JSON at byte "));
  EXPECT_EQ(error("{\"file\":\"a\",\"file\":\"b\",\"label\":1}"),
            "row 0, line 1: the line has the key 'file' twice in one object");
}

TEST_F(JsonRows, ColumnsCanBeTakenFromTheFirstRow) {
  put_file(path_, "{\"t\":\"a\",\"i\":1,\"r\":0.5,\"is\":[1,2],\"rs\":[1,2.5],\"ts\":[\"x\"],\"none\":[]}\n");
  EXPECT_EQ(JsonRowsFile::infer(path_), (std::vector<JsonColumn>{{"t", JsonKind::text},
                                                                 {"i", JsonKind::integer},
                                                                 {"r", JsonKind::real},
                                                                 {"is", JsonKind::integers},
                                                                 {"rs", JsonKind::reals},
                                                                 {"ts", JsonKind::texts},
                                                                 {"none", JsonKind::reals}}));
  EXPECT_EQ(JsonRowsFile(path_, JsonRowsFile::infer(path_)).row(0)[5], JsonCell(std::vector<std::string>{"x"}));
  put_file(path_, "{\"o\":{}}\n");
  EXPECT_TRUE(contains(error_of([&] { JsonRowsFile::infer(path_); }), "key 'o' holds an object that is no column's"));
  put_file(path_, " \n");
  EXPECT_TRUE(contains(error_of([&] { JsonRowsFile::infer(path_); }), "the file has no rows"));
  EXPECT_TRUE(contains(error_of([&] { JsonRowsFile(path_, {{"a"}, {"a"}}); }), "wanted twice"));
}

TEST_F(JsonRows, EveryCutIsNamedExceptBetweenLines) {
  const std::string line = "{\"file\":\"a\",\"label\":1}";
  const std::string whole = line + "\n" + line + "\n";
  const auto use = [&] {
    const JsonRowsFile file(path_, kColumns);
    for (std::size_t i = 0; i < file.size(); ++i) file.row(i);
  };
  const std::size_t n = line.size();
  expect_cuts_are_errors(path_, whole, "[json_rows] " + path_ + ": row ", use,
                         [&](std::size_t cut) { return cut == 0 || cut == n || cut == n + 1 || cut == 2 * n + 1; });
  EXPECT_GT(expect_flips_are_survived(path_, whole, use), 1000);
}

}  // namespace
}  // namespace ridgeline
