// ridgeline/format/text/xml.h
//
// The subset of XML that annotation files use: nested elements with text. Attributes, comments and processing
// instructions are skipped; document types and CDATA sections are refused. The only entities are the five of XML and
// character numbers, so nothing can expand. Nodes own what they hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

struct XmlNode {
  std::string name;
  std::string text;  // without that of its children, and without blanks at both ends
  std::vector<XmlNode> children;
  std::uint64_t byte = 0;  // where its '<' is

  // The first child of that name; nullptr if there is none.
  const XmlNode* find(std::string_view child) const;
};

// The one element of the document. Errors: "`where` byte N: ...".
XmlNode parse_xml(std::string_view text, const std::string& where);

}  // namespace ridgeline
