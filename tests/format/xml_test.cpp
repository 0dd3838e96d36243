#include "ridgeline/format/text/xml.h"

#include "tests/support/files.h"

namespace ridgeline {
namespace {

std::string error(std::string_view text) {
  const std::string message = error_of([&] { parse_xml(text, "[test] f:"); });
  EXPECT_TRUE(message.empty() || message.starts_with("[test] f: byte ")) << message;
  return message.empty() ? "" : message.substr(10);
}

TEST(Xml, ReadsElementsAndText) {
  const XmlNode root = parse_xml(
      "\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- a <b> --><a x='1' y=\"<2>\">\n one <b/>&lt;two&#62; &amp;&#xe9;"
      "<c  > 3\n</c\n><!--x--></a>\n",
      "[test]");
  EXPECT_EQ(root.name, "a");
  EXPECT_EQ(root.text, "one <two> &\u00e9");
  ASSERT_EQ(root.children.size(), 2u);
  EXPECT_EQ(root.find("c")->text, "3");
  EXPECT_EQ(root.find("b")->text, "");
  EXPECT_EQ(root.find("d"), nullptr);
  EXPECT_EQ(root.find("b")->byte, 62u);
}

TEST(Xml, RefusesTheRestWithItsByte) {
  EXPECT_EQ(error(""), "byte 0: there is no element");
  EXPECT_EQ(error("<a>"), "byte 3: <a> is never closed");
  EXPECT_EQ(error("<a><b></a>"), "byte 6: </a> closes no <a>; <b> is open");
  EXPECT_EQ(error("</a>"), "byte 0: </a> closes no <a>");
  EXPECT_EQ(error("<a/>x"), "byte 4: text outside of the element");
  EXPECT_EQ(error("<a/><b/>"), "byte 4: a second element");
  EXPECT_EQ(error("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>"),
            "byte 0: document types and CDATA sections are not read");
  EXPECT_EQ(error("<a>&b;</a>"), "byte 3: '&' of no known entity");
  EXPECT_EQ(error("<a>&#xd800;</a>"), "byte 3: '&' of no known entity");
  EXPECT_EQ(error("<a b>"), "byte 4: an attribute without a value");
  EXPECT_EQ(error("<a b=c>"), "byte 5: an attribute's value without quotes");
  EXPECT_EQ(error("<a"), "byte 2: <a> has no end");
  EXPECT_EQ(error("<!-- a"), "byte 0: no '-->' follows");
  EXPECT_EQ(error("< a>"), "byte 1: a name is expected");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_EQ(error(deep), "byte 192: elements nest deeper than 64 levels");
  EXPECT_EQ(error(std::string("<a>\0</a>", 8)), "byte 3: embedded NUL");
}

}  // namespace
}  // namespace ridgeline
